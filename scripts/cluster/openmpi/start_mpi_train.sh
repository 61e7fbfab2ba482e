#!/usr/bin/env bash
# One node of a job that mpirun starts: a pserver, and a trainer that is a Python script.
#
#   mpirun -hostfile machines -n 3 start_mpi_train.sh          # in the directory with train.py, machines and the data
#
# `machines` lists the addresses of the nodes, one a line, as mpirun's hostfile does. Logs are in logs/. The variables
# below can be set before; everything that train.py reads is exported to it.
set -u
cd "${PADDLE_WORKSPACE:-$(dirname "$0")}" || exit 4

fail() { echo "start_mpi_train.sh: $1" >&2; exit "${2:-2}"; }
[ -n "${OMPI_COMM_WORLD_RANK:-}" ] || fail "OMPI_COMM_WORLD_RANK is not set: start this script by mpirun"
[ -s machines ] || fail "there is no file machines in $PWD, or it is empty: list the addresses of the nodes in it, one a line" 4

# The first word of a line is the address; mpirun's "slots=2" and comments may follow.
mapfile -t nodes < <(sed -e 's/#.*//' machines | awk 'NF {print $1}')
[ "${#nodes[@]}" = "$OMPI_COMM_WORLD_SIZE" ] ||
  fail "mpirun started $OMPI_COMM_WORLD_SIZE processes, and machines lists ${#nodes[@]} nodes: use mpirun -n ${#nodes[@]}"

# The pserver of rank n has to be where line n of machines says.
[ "${OMPI_COMM_WORLD_LOCAL_SIZE:-1}" = 1 ] || [ "${PADDLE_BIND:-no}" = yes ] ||
  fail "mpirun started $OMPI_COMM_WORLD_LOCAL_SIZE processes on this node, as it has so many processors: use mpirun --map-by node"

export PADDLE_INIT_USE_GPU="${PADDLE_INIT_USE_GPU:-False}"
export PADDLE_INIT_TRAINER_COUNT="${PADDLE_INIT_TRAINER_COUNT:-1}"
export PADDLE_INIT_PORT="${PADDLE_INIT_PORT:-7164}"
export PADDLE_INIT_PORTS_NUM="${PADDLE_INIT_PORTS_NUM:-1}"
export PADDLE_INIT_PORTS_NUM_FOR_SPARSE="${PADDLE_INIT_PORTS_NUM_FOR_SPARSE:-1}"
export PADDLE_INIT_NUM_GRADIENT_SERVERS="$OMPI_COMM_WORLD_SIZE"
export PADDLE_INIT_TRAINER_ID="$OMPI_COMM_WORLD_RANK"
PADDLE_INIT_PSERVERS=$(IFS=,; echo "${nodes[*]}")
export PADDLE_INIT_PSERVERS
export PADDLE_CLUSTER_TRAIN=True

# Several processes of one machine (a trial) have addresses of their own, and files of their own.
bind=() suffix=
if [ "${PADDLE_BIND:-no}" = yes ]; then
  bind=("--host=${nodes[$OMPI_COMM_WORLD_RANK]}")
  suffix=".$OMPI_COMM_WORLD_RANK"
fi
mkdir -p logs

# The token that the processes of the job prove to each other (docs/security.md): the file `token`, where one was copied to
# all nodes with the job. Else each process makes the same one, of the random key that mpirun makes for every job and gives to
# its processes alone; without such a key rank 0 makes one in this directory, which the nodes share then.
token=
[ ! -s token ] || export PADDLE_INIT_TOKEN_FILE="${PADDLE_INIT_TOKEN_FILE:-$PWD/token}"
if [ -z "${PADDLE_INIT_TOKEN_FILE:-}" ]; then
  key=${OMPI_MCA_orte_precondition_transports:-}
  [ ${#key} -ge 32 ] || key=
  run=${PMIX_NAMESPACE:-${OMPI_MCA_orte_ess_jobid:-${OMPI_MCA_ess_base_jobid:-}}}${key:+.$OMPI_COMM_WORLD_RANK}
  export PADDLE_INIT_TOKEN_FILE="$PWD/.token.${run//[^A-Za-z0-9_.-]/_}"
  if [ -n "$key" ] || [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then
    token=$PADDLE_INIT_TOKEN_FILE
    trap 'rm -f "$token"' EXIT
  fi
  if [ -n "$key" ]; then
    rm -f "$token"
    (umask 077 && set -o noclobber && printf 'paddle job %s' "$key" | sha256sum | cut -d ' ' -f 1 > "$token") || fail "cannot make $token" 4
  elif [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then
    "${PADDLE:-paddle}" token --replace --new "$token" > logs/token.log 2>&1 || fail "cannot make $token: $(cat logs/token.log)" 4
  fi
  for ((tries = 0; ; ++tries)); do
    [ ! -s "$PADDLE_INIT_TOKEN_FILE" ] || break
    [ $tries -lt 300 ] || fail "rank 0 has made no $PADDLE_INIT_TOKEN_FILE within 30 s. Where the nodes do not share $PWD, make a token \
once (paddle token --new token), copy it to all nodes, and set PADDLE_INIT_TOKEN_FILE to its path" 7
    sleep 0.1
  done
fi

# The pserver ends with the job: when all trainers are done, not when the trainer of this node is.
"${PADDLE:-paddle}" pserver --comment=paddle_cluster_pserver --exit_when_done=true --log_dir="logs${suffix:+/pserver$suffix}" \
  --record_file="job/pserver$suffix.flags" "${bind[@]}" > "logs/pserver$suffix.log" 2>&1 &
pserver=$!
# The workspace of every launcher (docs/workspace.md): log/ is the guide's logs/.
[ -e log ] || ln -sn logs log 2>/dev/null
ln -sf "pserver$suffix.log" "logs/server$suffix.log"
echo "$OMPI_COMM_WORLD_RANK" > "nodefile$suffix"
export PADDLE_INIT_LOG_DIR="${PADDLE_INIT_LOG_DIR:-logs${suffix:+/trainer$suffix}}"
export PADDLE_INIT_RECORD_FILE="job/train$suffix.flags"
trap 'kill "$pserver" 2>/dev/null; exit 130' INT TERM

"${PYTHON:-python3}" train.py > "logs/train$suffix.log" 2>&1
code=$?
if [ $code != 0 ]; then
  echo "start_mpi_train.sh: node $OMPI_COMM_WORLD_RANK: train.py ended with code $code; logs/train$suffix.log ends with:" >&2
  tail -n 5 "logs/train$suffix.log" >&2
  kill "$pserver" 2>/dev/null
fi
wait "$pserver"
exit $code
