"""Names of PaddlePaddle that are not here, and what to use instead."""
import sys
from typing import Any, Dict, Tuple

__all__ = ["Finder", "explain", "instead_of"]

_SUB_BLOCKS = "programs have no loops or branches: write the loop in Python around exe.run, or compute all cases and " \
              "choose by multiplication with a mask"
_SEQUENCES = "use sequence_pool, sequence_softmax, sequence_expand and fc over embeddings of sequences"
_RECURRENT = f"there are no recurrent layers: {_SEQUENCES}"
_IN_PROGRAM = "readers inside a program are not supported: use fluid.io.DataLoader or PyReader(iterable=True) and " \
              "give what they yield to exe.run(feed=...)"
_GPU = "all ops of a program run where its Executor does: fluid.Executor(fluid.CUDAPlace(0))"
_OWN_OPS = "ops are written in C++ (CONTRIBUTING.md); or compute it in Python between two runs and feed the result"
_IMPERATIVE = "there is no imperative mode: build a Program with fluid.layers and run it with fluid.Executor"
_PREDICT = "use load_inference_model and Executor.run; without Python 'paddle infer'"
_PROGRAM = "use fluid.Program with its blocks, ops and variables"
_OBJECTS = "there are no layers that find objects in images"
_NO_SUCH = "is not here; read the files in Python and feed what they hold (docs/datasets.md)"

# Names of a module, in one text per reason.
_REASONS: Dict[str, Tuple[Tuple[str, str], ...]] = {
    "fluid.layers": (
        ("While while_loop IfElse Switch ConditionalBlock cond case switch_case StaticRNN DynamicRNN array_read "
         "array_write array_length create_array lod_rank_table reorder_lod_tensor_by_rank tensor_array_to_tensor "
         "Assert is_empty", _SUB_BLOCKS),
        ("dynamic_lstm dynamic_lstmp dynamic_gru gru_unit lstm lstm_unit rnn birnn LSTMCell GRUCell RNNCell tree_conv",
         _RECURRENT),
        ("linear_chain_crf crf_decoding chunk_eval", "there is no CRF: use fc and softmax_with_cross_entropy per word"),
        ("beam_search beam_search_decode gather_tree dynamic_decode BeamSearchDecoder Decoder BasicDecoder "
         "DecodeHelper TrainingHelper GreedyEmbeddingHelper SampleEmbeddingHelper",
         "search in Python: run the program for one step with exe.run and choose with numpy"),
        ("py_reader create_py_reader_by_data read_file double_buffer open_files random_data_generator load",
         _IN_PROGRAM),
        ("py_func", "compute it in Python between two runs and feed the result"),
        ("sequence_reshape sequence_slice sequence_enumerate sequence_scatter sequence_erase im2sequence row_conv "
         "lod_append", f"cut and join sequences before they are fed; for the rest {_SEQUENCES}"),
        ("conv3d conv2d_transpose conv3d_transpose pool3d adaptive_pool3d deformable_conv image_resize "
         "image_resize_short resize_bilinear resize_nearest resize_linear resize_trilinear roi_pool roi_align "
         "psroi_pool prroi_pool deformable_roi_pooling pixel_shuffle shuffle_channel space_to_depth temporal_shift "
         "affine_grid grid_sampler unfold fsp_matrix random_crop similarity_focus mean_iou",
         "images have conv2d, pool2d and adaptive_pool2d; resize and crop them before they are fed"),
        ("pad pad2d pad_constant_like", "conv2d and pool2d have padding; else concat with fill_constant"),
        ("crop crop_tensor strided_slice", "use slice; steps other than 1 with gather"),
        ("inplace_abn instance_norm group_norm spectral_norm lrn affine_channel",
         "use batch_norm, layer_norm or l2_normalize"),
        ("prior_box density_prior_box multi_box_head bipartite_match target_assign detection_output ssd_loss "
         "rpn_target_assign retinanet_target_assign sigmoid_focal_loss anchor_generator roi_perspective_transform "
         "generate_proposal_labels generate_proposals generate_mask_labels iou_similarity box_coder "
         "polygon_box_transform yolov3_loss yolo_box box_clip multiclass_nms locality_aware_nms matrix_nms "
         "retinanet_detection_output distribute_fpn_proposals box_decoder_and_assign collect_fpn_proposals",
         _OBJECTS),
        ("detection", _OBJECTS),
        ("distributions Uniform Normal Categorical MultivariateNormalDiag sampling_id",
         "draw with numpy between two runs and feed the result, or use uniform_random and gaussian_random"),
        ("warpctc ctc_greedy_decoder edit_distance", "there is no CTC"),
        ("mse_loss", "use mean(square_error_cost(input, label))"),
        ("center_loss npair_loss", "write it with reduce_sum, square and softmax_with_cross_entropy"),
        ("reduce_all", "use cast(reduce_min(cast(x, 'int32')), 'bool')"),
        ("reduce_any", "use cast(reduce_max(cast(x, 'int32')), 'bool')"),
        ("has_inf has_nan", "use isfinite, which is true where there is neither"),
        ("rank size", "use len(x.shape), and reduce_prod(shape(x))"),
        ("range linspace eye diag triu", "make it with numpy and layers.assign"),
        ("ones_like", "use zeros_like(x) + 1.0"),
        ("argsort", "use topk with k as the length, which sorts from the largest on"),
        ("unique unique_with_counts", "use numpy.unique on what is fed"),
        ("reverse", "use gather with the indexes in reverse; sequences have sequence_reverse"),
        ("multiplex", "use where, or gather_nd of the stacked inputs"),
        ("scatter_nd scatter_nd_add", "use scatter(overwrite=False) on rows"),
        ("maxout", "use reshape and reduce_max"),
        ("selu", "use scale(elu(x, alpha=1.6732632), 1.0507010)"),
        ("hard_swish", "use x * relu6(x + 3.0) / 6.0"),
        ("softshrink", "use relu(x - alpha) - relu(-x - alpha)"),
        ("hard_shrink thresholded_relu", "multiply by cast(greater_than(x, threshold), 'float32')"),
        ("sinh cosh", "write it with exp(x) and exp(-x)"),
        ("atan acos asin erf", "compute it with numpy before it is fed; as activations use gelu, tanh or softsign"),
        ("add_position_encoding", "add a table of sin and cos that numpy makes, by layers.assign"),
        ("bilinear_tensor_product", "use fc, elementwise_mul and reduce_sum"),
        ("filter_by_instag", "select records before they are fed"),
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
        ("dygraph imperative enable_dygraph disable_dygraph in_dygraph_mode dygraph_grad_clip ComplexVariable",
         _IMPERATIVE),
        ("contrib", "quantization, mixed precision and the like are not supported; its HDFSClient is in "
         "paddle.fluid.incubate.fleet.utils.hdfs"),
        ("cuda_profiler device_guard", _GPU),
        ("AsyncExecutor async_executor DataFeedDesc data_feed_desc trainer_desc trainer_factory device_worker",
         "use Executor.train_from_dataset with fluid.DatasetFactory"),
        ("DistributedStrategy distribute_lookup_table distributed",
         "use paddle.fluid.incubate.fleet, or DistributeTranspilerConfig"),
        ("Communicator", "use fluid.communicator.Communicator"),
        ("LoDTensorArray", "give a list of LoDTensors"),
        ("InferenceTranspiler inference", _PREDICT),
        ("parallel_executor", "use fluid.ParallelExecutor, or fluid.CompiledProgram"),
        ("recordio_writer", "write text files and read them with fluid.DatasetFactory or paddle.reader"),
        ("load_op_library op", _OWN_OPS),
        ("require_version", "names of 1.5 to 1.8 are here, and 'paddle version' says the number of this package"),
        ("debugger net_drawer graphviz", "print(program) shows it, and 'paddle make_diagram' draws a job file"),
        ("default_scope_funcs", "use fluid.global_scope and fluid.scope_guard"),
        ("generator", "set program.random_seed"),
        ("entry_attr", "admission of rows is set in job files (docs/tables.md)"),
        ("dataloader multiprocess_utils", "use fluid.io.DataLoader"),
        ("inferencer", _PREDICT),
        ("ir", _PROGRAM),
        ("layer_helper_base", _OWN_OPS),
        ("annotations wrapped_decorator", "use Python's functools and contextlib"),
    ),
    "fluid.clip": (("append_gradient_clip_ops", "minimize() and apply_gradients() append them"),),
    "fluid.regularizer": (("append_regularization_ops", "minimize() and apply_gradients() append them"),),
    "fluid.core": (
        ("EOFException", f"{_IN_PROGRAM}; their loop ends by itself"),
        ("LoDTensorArray", "give a list of LoDTensors"),
        ("AnalysisConfig NativeConfig PaddleTensor PaddlePredictor create_paddle_predictor", _PREDICT),
        ("ProgramDesc BlockDesc OpDesc AttrType kEmptyVarName Graph Pass", _PROGRAM),
        ("Variable SelectedRows", "use scope.find_var(name).get_tensor()"),
        ("Place", "use CPUPlace or CUDAPlace"),
        ("PaddleError", "use EnforceNotMet"),
        ("globals init_gflags", "use fluid.set_flags and fluid.get_flags"),
        ("op_support_gpu", _GPU),
        ("FleetWrapper DistFleetWrapper", "use paddle.fluid.incubate.fleet"),
    ),
    "fluid.data_feeder": (
        ("check_type check_dtype check_variable_and_dtype", "layers check their arguments themselves"),
        ("convert_dtype", "use fluid.core.dtype_name"),
    ),
    "fluid.dataset": (("BoxPSDataset", "use InMemoryDataset"),),
    "fluid.evaluator": (
        ("ChunkEvaluator EditDistance", "use those of fluid.metrics"),
        ("DetectionMAP", _OBJECTS),
    ),
    "fluid.executor": (("as_numpy", "use numpy.array(tensor)"),),
    "fluid.framework": (
        ("in_dygraph_mode dygraph_only ComplexVariable", _IMPERATIVE),
        ("IrGraph OpProtoHolder", _PROGRAM),
        ("get_var", "use program.global_block().var(name)"),
        ("device_guard", _GPU),
        ("load_op_library", _OWN_OPS),
        ("require_version", "names of 1.5 to 1.8 are here, and 'paddle version' says the number of this package"),
    ),
    "fluid.io": (("prepend_feed_ops append_fetch_ops", "save_inference_model and load_inference_model do it"),),
    "fluid.layer_helper": (("LayerHelper", f"compose layers; their {_OWN_OPS}"),),
    "fluid.metrics": (("DetectionMAP", _OBJECTS),),
    "fluid.transpiler": (
        ("InferenceTranspiler", _PREDICT),
        ("collective", "there is no collective training: use DistributeTranspiler"),
    ),
    "dataset": (
        ("wmt16", "it is not here; wmt14 has pairs of sentences in the same form"),
        ("flowers voc2012 image", f"it {_NO_SUCH}; cifar and mnist have images"),
        ("mq2007", f"it {_NO_SUCH}"),
    ),
    "fluid.incubate.fleet": (
        ("collective", "there is no collective training: use incubate.fleet.parameter_server"),
        ("parameter_server.pslib", "use incubate.fleet.parameter_server.distribute_transpiler; tables are "
         "layers.embedding(is_distributed=True) (docs/tables.md)"),
        ("utils.fleet_util", "there is no FleetUtil: fleet has worker_index and worker_num, and utils has fs and hdfs"),
        ("utils.fleet_barrier_util utils.http_server utils.utils", "fleet.barrier_worker waits for all workers"),
    ),
}


def instead_of(module: str, name: str) -> str:
    """": what to use in the place of a name"; "" for a name that nothing is known of."""
    for names, sentence in _REASONS.get(module, ()):
        if name in names.split():
            return f": {sentence}"
    return ""


def explain(module: str) -> None:
    """Refuses the names above as attributes of this module, and in `from module import name`."""
    short = module.partition(".")[2]

    def missing(name: str) -> Any:
        raise AttributeError(f"{module} has no '{name}'{instead_of(short, name)}")

    found: Any = sys.modules[module]
    if not hasattr(found, "__getattr__"):
        found.__getattr__ = missing
    if not hasattr(found, "__path__"):
        found.__path__ = []  # else Python does not ask the finder below, and drops the sentence


class Finder:
    """The last place where Python looks for a module: `import paddle.fluid.contrib` and `from paddle.fluid.layers
    import While` are refused with what to use instead."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> None:
        package, _, rest = fullname.partition(".")
        if package != __name__.partition(".")[0]:
            return
        for module in _REASONS:
            if rest.startswith(module + "."):
                name = rest[len(module) + 1:]
                hint = instead_of(module, name)
                if hint:  # the exception has no name=: else Python drops the sentence where `from … import` is used
                    raise ModuleNotFoundError(f"{package}.{module} has no '{name}'{hint}")
