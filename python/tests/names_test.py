"""Names that scripts of 1.5 to 1.8 use, and what they do."""
import importlib
import os
import subprocess
import sys
import unittest
import unittest.mock

import numpy as np
from support import Case, fresh

import paddle
import paddle.fluid as fluid
from paddle import unsupported
from paddle.fluid import clip, core, framework, log_helper

# Of fluid.layers of 1.5 to 1.8; what is here has tests of its own.
NO_LAYERS = """
acos adaptive_pool3d add_position_encoding affine_channel affine_grid anchor_generator argsort array_length
array_read array_write asin Assert atan BasicDecoder beam_search beam_search_decode BeamSearchDecoder
bilinear_tensor_product bipartite_match birnn box_clip box_coder box_decoder_and_assign case Categorical
center_loss chunk_eval collect_fpn_proposals cond ConditionalBlock conv2d_transpose conv3d conv3d_transpose
cosh create_array create_py_reader_by_data crf_decoding crop crop_tensor ctc_greedy_decoder DecodeHelper
Decoder deformable_conv deformable_roi_pooling density_prior_box detection_output diag
distribute_fpn_proposals double_buffer dynamic_decode dynamic_gru dynamic_lstm dynamic_lstmp DynamicRNN
edit_distance erf eye filter_by_instag fsp_matrix gather_tree generate_mask_labels generate_proposal_labels
generate_proposals GreedyEmbeddingHelper grid_sampler group_norm gru_unit GRUCell hard_shrink hard_swish
has_inf has_nan IfElse im2sequence image_resize image_resize_short inplace_abn instance_norm iou_similarity
is_empty linear_chain_crf linspace load locality_aware_nms lod_append lod_rank_table lrn lstm lstm_unit
LSTMCell matrix_nms maxout mean_iou mse_loss multi_box_head multiclass_nms multiplex MultivariateNormalDiag
Normal npair_loss ones_like open_files pad pad2d pad_constant_like pixel_shuffle polygon_box_transform pool3d
prior_box prroi_pool psroi_pool py_func py_reader random_crop random_data_generator range rank read_file
reduce_all reduce_any reorder_lod_tensor_by_rank resize_bilinear resize_linear resize_nearest resize_trilinear
retinanet_detection_output retinanet_target_assign reverse rnn RNNCell roi_align roi_perspective_transform
roi_pool row_conv rpn_target_assign SampleEmbeddingHelper sampling_id scatter_nd scatter_nd_add selu
sequence_enumerate sequence_erase sequence_reshape sequence_scatter sequence_slice shuffle_channel
sigmoid_focal_loss similarity_focus sinh size softshrink space_to_depth spectral_norm ssd_loss StaticRNN
strided_slice Switch switch_case target_assign temporal_shift tensor_array_to_tensor thresholded_relu
TrainingHelper tree_conv triu unfold Uniform unique unique_with_counts warpctc While while_loop yolo_box
yolov3_loss
""".split()

# Of the modules of 1.5 to 1.8; those of layers are above.
NAMES = {
    "fluid.average": "WeightedAverage",
    "fluid.backward": "append_backward calc_gradient gradients",
    "fluid.clip": "append_gradient_clip_ops error_clip_callback ErrorClipByValue GradientClipByGlobalNorm "
                  "GradientClipByNorm GradientClipByValue set_gradient_clip",
    "fluid.core": "AnalysisConfig AttrType BlockDesc CPUPlace create_paddle_predictor CUDAPinnedPlace CUDAPlace "
                  "DistFleetWrapper EnforceNotMet EOFException FleetWrapper get_cuda_device_count globals "
                  "is_compiled_with_cuda kEmptyVarName LoDTensor LoDTensorArray NativeConfig op_support_gpu OpDesc "
                  "PaddleError PaddleTensor Place ProgramDesc Scope SelectedRows Tensor VarDesc Variable",
    "fluid.data_feeder": "check_dtype check_type check_variable_and_dtype convert_dtype DataFeeder",
    "fluid.dataset": "BoxPSDataset DatasetFactory FileInstantDataset InMemoryDataset QueueDataset",
    "fluid.evaluator": "Accuracy ChunkEvaluator DetectionMAP EditDistance",
    "fluid.executor": "as_numpy Executor global_scope scope_guard",
    "fluid.framework": "Block ComplexVariable convert_np_dtype_to_dtype_ cpu_places cuda_pinned_places cuda_places "
                       "default_main_program default_startup_program device_guard get_flags get_var grad_var_name "
                       "in_dygraph_mode IrGraph is_compiled_with_cuda load_op_library name_scope Operator "
                       "OpProtoHolder Parameter Program program_guard require_version set_flags switch_main_program "
                       "switch_startup_program Variable",
    "fluid.initializer": "Bilinear BilinearInitializer Constant ConstantInitializer force_init_on_cpu init_on_cpu MSRA "
                         "MSRAInitializer Normal NormalInitializer NumpyArrayInitializer TruncatedNormal "
                         "TruncatedNormalInitializer Uniform UniformInitializer Xavier XavierInitializer",
    "fluid.io": "append_fetch_ops batch buffered cache chain compose ComposeNotAligned DataLoader firstn "
                "get_parameter_value get_parameter_value_by_name get_program_parameter get_program_persistable_vars "
                "load load_inference_model load_params load_persistables load_program_state load_vars map_readers "
                "multiprocess_reader prepend_feed_ops PyReader save save_inference_model save_params "
                "save_persistables save_vars set_program_state shuffle xmap_readers",
    "fluid.layer_helper": "LayerHelper",
    "fluid.metrics": "Accuracy Auc ChunkEvaluator CompositeMetric DetectionMAP EditDistance MetricBase Precision "
                     "Recall",
    "fluid.nets": "glu img_conv_group scaled_dot_product_attention sequence_conv_pool simple_img_conv_pool",
    "fluid.optimizer": "Adadelta AdadeltaOptimizer Adagrad AdagradOptimizer Adam Adamax AdamaxOptimizer AdamOptimizer "
                       "DecayedAdagrad DecayedAdagradOptimizer DGCMomentumOptimizer Dpsgd DpsgdOptimizer "
                       "ExponentialMovingAverage Ftrl FtrlOptimizer LambOptimizer LarsMomentum LarsMomentumOptimizer "
                       "LookaheadOptimizer ModelAverage Momentum MomentumOptimizer Optimizer PipelineOptimizer "
                       "RecomputeOptimizer RMSPropOptimizer SGD SGDOptimizer",
    "fluid.profiler": "cuda_profiler profiler reset_profiler start_profiler stop_profiler",
    "fluid.regularizer": "append_regularization_ops L1Decay L1DecayRegularizer L2Decay L2DecayRegularizer",
    "fluid.transpiler": "collective DistributeTranspiler DistributeTranspilerConfig HashName InferenceTranspiler "
                        "memory_optimize release_memory RoundRobin",
    "fluid.unique_name": "generate guard switch",
}


def floats(*shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


class Inputs(Case):
    def test_embedding_takes_ids_of_any_shape(self):
        for sparse in (False, True):
            with fresh() as net:
                ids = fluid.data("ids", [None, 2], dtype="int64")
                table = fluid.ParamAttr(name="t", initializer=fluid.initializer.NumpyArrayInitializer(floats(4, 3)))
                rows = fluid.embedding(ids, size=[4, 3], is_sparse=sparse, padding_idx=-1, param_attr=table)
                self.assertEqual(rows.shape, (-1, 2, 3))
                self.assertEqual(rows.op.type, "lookup_table_v2")
                fluid.optimizer.SGD(1.0).minimize(fluid.layers.reduce_sum(rows))
                net.start()
                (got,) = net.run({"ids": np.array([[1, 3]])}, [rows])
                np.testing.assert_array_equal(got, [[[3, 4, 5], [0, 0, 0]]])  # the last row is padding
                np.testing.assert_array_equal(net.value("t")[[1, 3]], [[2, 3, 4], [9, 10, 11]])
        with fresh() as net:
            fluid.embedding(fluid.data("ids", [None], dtype="int64"), size=[4, 3])
            self.assertEqual([p.name for p in net.main.all_parameters()], ["embedding_0.w_0"])

    def test_one_hot_adds_a_dimension(self):
        with fresh() as net:
            ids = fluid.data("ids", [None], dtype="int64")
            plain, any_id = fluid.one_hot(ids, 3), fluid.one_hot(ids, 3, allow_out_of_range=True)
            self.assertEqual(plain.shape, (-1, 3))
            np.testing.assert_array_equal(net.run({"ids": np.array([2, 0])}, [plain])[0], [[0, 0, 1], [1, 0, 0]])
            np.testing.assert_array_equal(net.run({"ids": np.array([7, 0])}, [any_id])[0], [[0, 0, 0], [1, 0, 0]])
            with self.says(core.DataError, "id 7"):
                net.run({"ids": np.array([7, 0])}, [plain])
            with self.says(core.ConfigError, "end in a dimension of 1", "fluid.one_hot"):
                fluid.layers.one_hot(ids, 3)
            with self.says(TypeError, "depth must be an int"):
                fluid.one_hot(ids, "3")

    def test_numbers_given_as_constants(self):
        with fresh() as net:
            x = fluid.data("x", [None, 4])
            two = fluid.layers.fill_constant([1], "int32", 2)
            pair = fluid.layers.assign(np.array([-1, 2], "int32"))
            results = [fluid.layers.reshape(x, [-1, two]), fluid.layers.reshape(x, pair),
                       fluid.layers.reshape(x, [0, 0], actual_shape=pair), fluid.layers.expand(x, [1, two]),
                       fluid.layers.topk(x, two)[0],
                       fluid.layers.one_hot(fluid.layers.fill_constant([3, 1], "int64", 1), two),
                       fluid.one_hot(fluid.layers.fill_constant([3], "int64", 1), two)]
            shapes = [v.shape for v in net.run({"x": floats(3, 4)}, results)]
            self.assertEqual(shapes, [(6, 2)] * 3 + [(3, 8), (3, 2), (3, 2), (3, 2)])
            with self.says(core.ConfigError, "K", "one element"):
                net.run({"x": floats(3, 4)}, [fluid.layers.topk(x, fluid.layers.cast(x, "int32"))[0]])
            with self.says(ValueError, "2 elements"):
                fluid.layers.topk(x, pair)
            fluid.layers.increment(two)  # it is no constant any more
            self.assertEqual(net.run({"x": floats(3, 4)}, [fluid.layers.topk(x, two)[0]])[0].shape, (3, 3))

    def test_numbers_given_as_variables(self):
        with fresh() as net:
            x = fluid.data("x", [None, 4])
            shape, n = fluid.data("shape", [2], dtype="int32"), fluid.data("n", [1], dtype="int64")
            rows = fluid.layers.slice(fluid.layers.shape(x), axes=[0], starts=[0], ends=[1])
            results = [fluid.layers.reshape(x, shape), fluid.layers.reshape(x, [-1, n]),
                       fluid.layers.reshape(x, [-1, 2], actual_shape=shape, act="relu"),
                       fluid.layers.reshape(x, [rows * 2, -1]), fluid.layers.expand(x, [1, n]),
                       fluid.layers.expand(x, shape), fluid.layers.topk(x, n)[0], fluid.layers.topk(x, n)[1],
                       fluid.layers.one_hot(fluid.layers.fill_constant([3, 1], "int64", 1), n),
                       fluid.one_hot(fluid.layers.fill_constant([3], "int64", 1), n),
                       fluid.layers.slice(x, axes=[1], starts=[0], ends=[n]),
                       fluid.layers.fill_constant([2, n], "float32", 1.5)]
            self.assertEqual(results[1].shape, (-1, -1))
            self.assertEqual(results[2].shape, (-1, 2))
            for lengths, number in (([3, 4], 2), ([2, 6], 4), ([3, 4], 2)):
                feed = {"x": floats(3, 4), "shape": np.array(lengths, "int32"), "n": np.array([number], "int64")}
                found = [v.shape for v in net.run(feed, results)]
                a, b = lengths
                self.assertEqual(found, [(a, b), (12 // number, number), (a, b), (6, 2), (3, 4 * number),
                                         (3 * a, 4 * b), (3, number), (3, number), (3, number), (3, number),
                                         (3, number), (2, number)])
            with self.says(core.ConfigError, "cannot reshape"):
                net.run({"x": floats(3, 4), "shape": np.array([5, 2], "int32")}, [results[0]])
            with self.says(core.ConfigError, "int32 or int64"):
                fluid.layers.topk(x, x)

    def test_gradients_through_lengths_that_are_fed(self):
        with fresh() as net:
            x, n = fluid.data("x", [2, 3]), fluid.data("n", [2], dtype="int32")
            w = fluid.layers.create_parameter([3], "float32", name="w",
                                              default_initializer=fluid.initializer.Constant(1.0))
            wide = fluid.layers.expand(x * w, n)
            fluid.optimizer.SGD(0.5).minimize(fluid.layers.reduce_sum(wide))
            net.start()
            for times in (1, 2):
                before = net.value("w").copy()
                net.run({"x": floats(2, 3), "n": np.array([times, 3], "int32")})
                np.testing.assert_allclose(before - net.value("w"), 0.5 * 3 * times * floats(2, 3).sum(axis=0))

    def test_inputs_know_that_they_are(self):
        with fresh() as net:
            x, y = fluid.data("x", [None, 2]), fluid.layers.data("y", [1])
            fluid.layers.fc(x, 1)
            self.assertEqual([v.name for v in net.main.list_vars() if v.is_data], ["x", "y"])
            self.assertEqual([v.name for v in net.main.clone(for_test=True).list_vars() if v.is_data], ["x", "y"])

    def test_lod_tensors_keep_their_lengths(self):
        tensor = fluid.LoDTensor([[2, 3]])
        self.assertEqual(tensor.lod(), [[0, 2, 5]])
        tensor.set(floats(5, 1), fluid.CPUPlace())
        self.assertEqual(tensor.recursive_sequence_lengths(), [[2, 3]])
        tensor.set(floats(5, 1) * 2, fluid.CPUPlace())
        self.assertEqual(tensor.recursive_sequence_lengths(), [[2, 3]])
        tensor.set(floats(6, 1), fluid.CPUPlace())  # another length: new lengths follow
        self.assertEqual(tensor.recursive_sequence_lengths(), [[2, 3]])
        self.assertFalse(tensor.has_valid_recursive_sequence_lengths())
        with fresh() as net:
            pooled = fluid.layers.sequence_pool(fluid.layers.data("x", [1], lod_level=1), "sum")
            with self.says(core.EnforceNotMet, "ends at 5, expected 6"):
                net.run({"x": tensor}, [pooled])
            tensor.set_recursive_sequence_lengths([[2, 4]])
            self.assertEqual(net.run({"x": tensor}, [pooled])[0].tolist(), [[1], [14]])
        for wrong in ([[2, 3]], [[1], [2, 4]], [[2, 2, 2, 2]]):
            with self.says(core.EnforceNotMet, "of the LoD"):
                tensor.set_recursive_sequence_lengths(wrong)
        with self.says(core.EnforceNotMet, "of the LoD"):
            fluid.LoDTensor([[1], [2, 4]])

    def test_a_batch_of_sequences_is_as_long_as_there_are_sequences(self):
        with fresh() as net:
            x = fluid.layers.data("x", [2], lod_level=1)
            ones = fluid.layers.fill_constant_batch_size_like(x, shape=[-1, 3], dtype="float32", value=1)
            tensor = fluid.create_lod_tensor(floats(5, 2), [[2, 3]])
            self.assertEqual(net.run({"x": tensor}, [ones])[0].shape, (2, 3))


class Parameters(Case):
    def test_initializer_and_regularizer_of_a_block(self):
        with fresh() as net:
            net.startup.global_block().create_parameter(
                [2], "float32", name="w", initializer=fluid.initializer.Constant(3.0))
            w = net.main.global_block().create_parameter(
                [2], "float32", name="w", regularizer=fluid.regularizer.L2Decay(0.5),
                gradient_clip_attr=clip.GradientClipByValue(1.0))
            self.assertEqual(w.regularizer._plain(), {"l2": 0.5})
            self.assertEqual(w.gradient_clip_attr.max, 1.0)
            fluid.optimizer.SGD(1.0).minimize(fluid.layers.reduce_sum(w * 7.0))
            net.start()
            net.run()
            np.testing.assert_allclose(net.value("w"), [3 - 1 - 0.5 * 3] * 2)  # 7 clipped to 1, and the decay
            with self.says(TypeError, "L2Decay(0.01)"):
                net.main.global_block().create_parameter([2], "float32", name="v", regularizer=0.1)

    def train(self, make, **limits):
        """Two parameters with gradients 3 and 4; what one step of SGD with rate 1 subtracts."""
        with fresh() as net:
            parts = [fluid.layers.create_parameter([1], "float32", name=n, default_initializer=fluid.initializer.
                                                   Constant(0.0)) for n in ("a", "b")]
            loss = fluid.layers.sums([parts[0] * 3.0, parts[1] * 4.0])
            make(**limits).minimize(loss)
            net.start()
            net.run()
            return [round(-float(net.value(n)[0]), 5) for n in ("a", "b")]

    def test_grad_clip_of_optimizers(self):
        def sgd(**limits):
            return fluid.optimizer.SGD(learning_rate=1.0, **limits)

        self.assertEqual(self.train(sgd), [3, 4])
        self.assertEqual(self.train(sgd, grad_clip=clip.GradientClipByValue(3.5)), [3, 3.5])
        self.assertEqual(self.train(sgd, grad_clip=clip.GradientClipByNorm(2.0)), [2, 2])
        self.assertEqual(self.train(sgd, grad_clip=clip.GradientClipByGlobalNorm(1.0)), [0.6, 0.8])
        self.assertEqual(self.train(sgd, grad_clip=clip.GradientClipByValue(
            1.0, need_clip=lambda parameter: parameter.name == "b")), [3, 1])
        self.assertEqual(self.train(sgd, parameter_list=["b"]), [0, 4])
        with self.says(TypeError, "grad_clip should be one of fluid.clip.GradientClip"):
            sgd(grad_clip=1.0)
        for make in (fluid.optimizer.Momentum, fluid.optimizer.Adagrad, fluid.optimizer.Adam, fluid.optimizer.Adamax,
                     fluid.optimizer.DecayedAdagrad, fluid.optimizer.Adadelta, fluid.optimizer.RMSProp,
                     fluid.optimizer.Ftrl):
            rest = {"momentum": 0.9} if make is fluid.optimizer.Momentum else {}
            self.train(lambda **limits: make(learning_rate=0.1, **rest, **limits),
                       grad_clip=clip.GradientClipByNorm(2.0))

    def test_adam_that_advances_its_powers(self):
        """As programs of 1.8 have it: two outputs, and no scale ops."""
        def train(newer):
            with fresh() as net:
                w = fluid.layers.create_parameter([3], "float32", name="w")
                fluid.optimizer.Adam(0.1).minimize(fluid.layers.reduce_sum(fluid.layers.square(w)))
                block = net.main.global_block()
                if newer:
                    (adam,) = [op for op in block.ops if op.type == "adam"]
                    for slot in ("Beta1Pow", "Beta2Pow"):
                        adam._core.set_output(slot + "Out", adam.input(slot))
                    for index in reversed(range(len(block.ops))):
                        if block.ops[index].type == "scale" and "beta" in block.ops[index].input("X")[0]:
                            block._remove_op(index)
                net.start()
                for _ in range(5):
                    net.run()
                return net.value("w"), net.value("w_beta1_pow_acc_0")

        for old, new in zip(train(False), train(True)):
            np.testing.assert_allclose(old, new, rtol=1e-6)

    def test_clips_of_errors(self):
        with fresh() as net:
            w = fluid.layers.create_parameter([1], "float32", name="w")
            hidden = w * 1.0
            hidden.error_clip = clip.ErrorClipByValue(2.0)
            loss = fluid.layers.reduce_sum(hidden * 5.0)
            (pair,) = fluid.backward.append_backward(loss, callbacks=[clip.error_clip_callback])
            self.assertEqual([op.type for op in net.main.global_block().ops].count("clip"), 1)
            net.start()
            self.assertEqual(net.run(fetch=[pair[1]])[0].tolist(), [2])


class Layers(Case):
    def test_adaptive_pool2d(self):
        with fresh() as net:
            x = fluid.data("x", [None, 1, 7, 7])
            x.stop_gradient = False
            largest, mean = (fluid.layers.adaptive_pool2d(x, pool_size=[3, 2], pool_type=t) for t in ("max", "avg"))
            self.assertEqual(largest.shape, (-1, 1, 3, 2))
            got = net.run({"x": floats(1, 1, 7, 7)}, [largest, mean])
            np.testing.assert_array_equal(got[0][0, 0], [[17, 20], [31, 34], [45, 48]])
            np.testing.assert_array_equal(got[1][0, 0], [[8.5, 11.5], [22.5, 25.5], [36.5, 39.5]])
            (grad,) = fluid.gradients(mean, x)
            self.assertAlmostEqual(float(net.run({"x": floats(1, 1, 7, 7)}, [grad])[0].sum()), 6, places=5)
            with self.says(NotImplementedError, "require_index"):
                fluid.layers.adaptive_pool2d(x, 1, require_index=True)

    def test_means_over_windows_that_hang_over(self):
        with fresh() as net:
            out = fluid.layers.pool2d(fluid.data("x", [None, 1, 3, 3]), pool_size=2, pool_type="avg", pool_stride=2,
                                      ceil_mode=True, exclusive=False)
            np.testing.assert_array_equal(net.run({"x": np.ones((1, 1, 3, 3), "float32")}, [out])[0][0, 0],
                                          [[1, 0.5], [0.5, 0.25]])

    def test_gradients_of_top_k_and_clip_by_norm(self):
        with fresh() as net:
            x = fluid.data("x", [2, 3])
            x.stop_gradient = False
            top, _ = fluid.layers.topk(x, k=1)
            top.stop_gradient = False  # as in Fluid it is True unless set
            first = fluid.backward.calc_gradient(fluid.layers.reduce_sum(top), x)
            self.assertIsInstance(first, framework.Variable)  # one input, one gradient
            second = fluid.backward.calc_gradient(fluid.layers.clip_by_norm(x, max_norm=1.0), x)
            got = net.run({"x": np.array([[0, 3, 0], [4, 0, 0]], "float32")}, [first, second])
            np.testing.assert_array_equal(got[0], [[0, 1, 0], [1, 0, 0]])
            np.testing.assert_allclose(got[1], [[0.2, 0.2 - 7 * 3 / 125, 0.2], [0.2 - 7 * 4 / 125, 0.2, 0.2]],
                                       rtol=1e-5)
            several = fluid.backward.calc_gradient(fluid.layers.reduce_sum(top), [x, top])
            self.assertEqual(len(several), 2)

    def test_noam_decay_with_a_rate(self):
        with fresh() as net:
            plain, scaled = (fluid.layers.noam_decay(64, 100, *rate) for rate in ((), (0.5,)))
            net.start()
            one, half = net.run(fetch=[plain, scaled])
            np.testing.assert_allclose(half, one / 2)
            self.assertEqual(plain.op.attr("op_role"), scaled.op.attr("op_role"))

    def test_places(self):
        self.assertEqual(fluid.layers.device.get_places(2), [fluid.CPUPlace()] * 2)
        with self.says(core.ConfigError, "CPU"):
            fluid.layers.device.get_places(device_type="CUDA")

    def test_print(self):
        script = """
import numpy as np, paddle.fluid as fluid
x = fluid.data("x", [None, 2])
x.stop_gradient = False
shown = fluid.layers.Print(x, message="values of x", summarize=3, first_n=1)
fluid.layers.Print(fluid.layers.mean(x), print_tensor_name=False, print_phase="forward")
(grad,) = fluid.gradients(fluid.layers.mean(shown), x)
exe = fluid.Executor()
for _ in range(2):
    exe.run(feed={"x": np.array([[1, 2], [3, 4]], "float32")}, fetch_list=[grad])
"""
        out = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(out.count("values of x\nTensor[x]\n\tshape: [2, 2]\n\tdtype: float32\n\tdata: 1, 2, 3, ...\n"),
                         1)
        self.assertEqual(out.count("@GRAD]"), 1)
        self.assertEqual(out.count("Tensor\n\tshape: [1]\n\tdtype: float32\n\tdata: 2.5\n"), 2)
        with fresh(), self.says(ValueError, "'forward', 'backward' or 'both'"):
            fluid.layers.Print(fluid.data("x", [1]), print_phase="once")


class Framework(Case):
    def test_names_of_types(self):
        dtype = core.VarDesc.VarType.FP32
        self.assertEqual([str(dtype), repr(dtype), f"{dtype}", "%s" % dtype, "{}".format(dtype)], ["VarType.FP32"] * 5)
        self.assertEqual(dtype, 5)
        self.assertEqual(framework.convert_np_dtype_to_dtype_("int64"), core.VarDesc.VarType.INT64)
        self.assertEqual("w" + framework.GRAD_VAR_SUFFIX, framework.grad_var_name("w"))

    def test_flags(self):
        with unittest.mock.patch.dict(os.environ, {"FLAGS_rpc_deadline": "5000"}):
            self.assertEqual(fluid.get_flags("FLAGS_rpc_deadline"), {"FLAGS_rpc_deadline": 5000})
            fluid.set_flags({"FLAGS_rpc_deadline": 6000, "FLAGS_check_nan_inf": True})
            self.assertEqual(os.environ["FLAGS_rpc_deadline"], "6000")
            self.assertEqual(fluid.get_flags(["FLAGS_check_nan_inf"]), {"FLAGS_check_nan_inf": True})
            with fresh() as net:
                log = fluid.layers.log(fluid.data("x", [1]))
                with self.says(core.NumericError, "after op log"):
                    net.run({"x": np.array([-1], "float32")}, [log])
            with self.says(ValueError, "did you mean 'FLAGS_rpc_deadline'"):
                fluid.set_flags({"FLAGS_rpc_deadlin": 1})
            fluid.set_flags({"FLAGS_check_nan_inf": False})

    def test_the_installation_checks_itself(self):
        out = subprocess.run([sys.executable, "-c", "import paddle.fluid as f; f.install_check.run_check()"],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("installed successfully", out)

    def test_names_that_are_not_there_say_what_to_use(self):
        for module, name, words in ((fluid, "dygraph", "build a Program with fluid.layers"),
                                    (fluid, "Executr", "did you mean"),
                                    (fluid.layers, "While", "write the loop in Python"),
                                    (fluid.layers, "py_reader", "fluid.io.DataLoader"),
                                    (fluid.optimizer, "Lamb", "use Momentum or Adam"),
                                    (paddle, "nn", "write paddle.fluid")):
            with self.says(AttributeError, name, words):
                getattr(module, name)
        self.assertFalse(hasattr(fluid, "__wrapped__"))

    def test_every_layer_of_1_8_is_there_or_says_what_to_use(self):
        self.assertEqual(len(set(NO_LAYERS)), 174)
        for name in NO_LAYERS:
            with self.assertRaises(AttributeError) as raised:
                getattr(fluid.layers, name)
            self.assertRegex(str(raised.exception), rf"^fluid.layers has no '{name}': \w")
        for module, reasons in unsupported._REASONS.items():  # no advice against what is there
            found = importlib.import_module(f"paddle.{module}")
            for name in " ".join(names for names, _ in reasons).split():
                with self.subTest(f"{module}.{name}"):
                    self.assertFalse("." not in name and hasattr(found, name))
                    with self.assertRaisesRegex(ImportError, f"has no '{name}': [a-z]"):
                        exec(f"from paddle.{module}.{name} import x")

    def test_every_name_of_1_8_is_there_or_says_what_to_use(self):
        for module, names in NAMES.items():
            found = importlib.import_module(f"paddle.{module}")
            for name in names.split():
                with self.subTest(f"{module}.{name}"):
                    try:
                        getattr(found, name)
                    except AttributeError as e:
                        self.assertRegex(str(e), rf"^(paddle\.)?{module} has no '{name}': \w")
                        with self.assertRaisesRegex(ImportError, f"has no '{name}': [a-z]"):
                            exec(f"from paddle.{module} import {name}")

    def test_modules_that_are_not_there_say_what_to_use(self):
        for line, words in (("import paddle.fluid.contrib", "fleet.utils.hdfs"),
                            ("from paddle.fluid.contrib.utils import HDFSClient", "fleet.utils.hdfs"),
                            ("import paddle.fluid.dygraph as dg", "no imperative mode"),
                            ("from paddle.fluid import dygraph", "no imperative mode"),
                            ("from paddle.fluid.layers import While", "write the loop in Python"),
                            ("from paddle.dataset import wmt16", "wmt14"),
                            ("from paddle.fluid.incubate.fleet.collective import fleet", "parameter_server"),
                            ("from paddle.fluid.incubate.fleet.parameter_server.pslib import fleet", "is_distributed"),
                            ("from paddle.fluid.incubate.fleet.utils.fleet_util import FleetUtil", "worker_index")):
            with self.subTest(line), self.assertRaises(ImportError) as raised:
                exec(line)
            self.assertRegex(str(raised.exception), rf"has no '[\w.]+': .*{words}")
        with self.assertRaisesRegex(ModuleNotFoundError, "^No module named 'paddle.fluid.nonsense'$"):
            exec("import paddle.fluid.nonsense")

    def test_incubate_comes_with_fluid(self):
        script = "import paddle.fluid as f; print(f.incubate.__name__)"
        out = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(out, "paddle.fluid.incubate\n")

    def test_loggers(self):
        logger = log_helper.get_logger("of this test", 20, fmt="%(message)s")
        self.assertIs(logger, log_helper.get_logger("of this test", 20))
        self.assertEqual((len(logger.handlers), logger.propagate), (1, False))


if __name__ == "__main__":
    unittest.main()
