"""Names of PaddlePaddle that are not here, and what to use instead."""
from typing import Dict, Tuple

__all__ = ["instead_of"]

_SUB_BLOCKS = "programs have no loops or branches: write the loop in Python around exe.run, or compute all cases and " \
              "choose by multiplication with a mask"
_SEQUENCES = "use sequence_pool, sequence_softmax, sequence_expand and fc over embeddings of sequences"
_RECURRENT = f"there are no recurrent layers: {_SEQUENCES}"
_IN_PROGRAM = "readers inside a program are not supported: use fluid.io.DataLoader or PyReader(iterable=True) and " \
              "give what they yield to exe.run(feed=...)"
_ALL_CLASSES = "use fc and softmax_with_cross_entropy over all classes"
_GPU = "all ops of a program run where its Executor does: fluid.Executor(fluid.CUDAPlace(0))"

# Names of a module, in one text per reason.
_REASONS: Dict[str, Tuple[Tuple[str, str], ...]] = {
    "fluid.layers": (
        ("While while_loop IfElse Switch ConditionalBlock cond case switch_case StaticRNN DynamicRNN array_read "
         "array_write array_length create_array lod_rank_table reorder_lod_tensor_by_rank Assert is_empty",
         _SUB_BLOCKS),
        ("dynamic_lstm dynamic_lstmp dynamic_gru gru_unit lstm lstm_unit rnn LSTMCell GRUCell RNNCell", _RECURRENT),
        ("linear_chain_crf crf_decoding chunk_eval", "there is no CRF: use fc and softmax_with_cross_entropy per word"),
        ("beam_search beam_search_decode dynamic_decode BeamSearchDecoder", "search in Python: run the program for one "
         "step with exe.run and choose with numpy"),
        ("py_reader create_py_reader_by_data read_file double_buffer open_files random_data_generator load",
         _IN_PROGRAM),
        ("nce hsigmoid sampled_softmax_with_cross_entropy", _ALL_CLASSES),
        ("py_func", "compute it in Python between two runs and feed the result"),
        ("sequence_conv sequence_reshape sequence_slice sequence_enumerate sequence_scatter sequence_erase",
         _SEQUENCES),
        ("conv3d conv2d_transpose conv3d_transpose pool3d adaptive_pool3d deformable_conv image_resize resize_bilinear "
         "resize_nearest roi_pool roi_align", "images have conv2d, pool2d and adaptive_pool2d"),
        ("warpctc ctc_greedy_decoder edit_distance", "there is no CTC"),
    ),
    "fluid.optimizer": (
        ("Dpsgd DpsgdOptimizer Lamb LambOptimizer LarsMomentum LarsMomentumOptimizer DGCMomentumOptimizer",
         "use Momentum or Adam, with grad_clip= where gradients are large"),
        ("ExponentialMovingAverage ModelAverage LookaheadOptimizer",
         "average what save_persistables writes, with numpy"),
        ("PipelineOptimizer RecomputeOptimizer",
         "training is divided by parameter servers: DistributeTranspiler, Fleet"),
    ),
    "fluid": (
        ("dygraph imperative enable_dygraph disable_dygraph in_dygraph_mode",
         "there is no imperative mode: build a Program with fluid.layers and run it with fluid.Executor"),
        ("contrib", "quantization, mixed precision and the like are not supported"),
        ("cuda_profiler device_guard", _GPU),
        ("AsyncExecutor DataFeedDesc", "use Executor.train_from_dataset with fluid.DatasetFactory"),
        ("DistributedStrategy", "use paddle.fluid.incubate.fleet, or DistributeTranspilerConfig"),
    ),
}


def instead_of(module: str, name: str) -> str:
    """": what to use in the place of a name"; "" for a name that nothing is known of."""
    for names, sentence in _REASONS.get(module, ()):
        if name in names.split():
            return f": {sentence}"
    return ""
