#!/bin/sh
# A cluster job, as the guide's run.sh: the recommendation demo on all nodes of conf.py. Change what you need.
cd "$(dirname "$0")" || exit 1
exec ./paddle.py \
  --job_dispatch_package="${PATH_TO_LOCAL_WORKSPACE:-demo/recommendation}" \
  --dot_period=10 \
  --ports_num_for_sparse=1 \
  --log_period=50 \
  --num_passes=5 \
  --trainer_count=1 \
  --saving_period=1 \
  --local=0 \
  --config=./train.py \
  --save_dir=./output \
  --use_gpu=0 \
  "$@"
