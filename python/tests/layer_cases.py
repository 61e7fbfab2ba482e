"""Every layer function once, with its result by numpy: for layers_test.py, and for interop, which runs them with
PaddlePaddle as well."""
import numpy as np
import paddle.fluid as fluid

L = fluid.layers
RNG = np.random.RandomState(3)
X = RNG.uniform(-2, 2, (4, 6)).astype("float32")
Y = RNG.uniform(0.5, 2, (4, 6)).astype("float32")
P = np.abs(X) + 0.1  # positive
IDS = np.array([[1], [3], [0], [3]], dtype="int64")
PROB = (np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)).astype("float32")
BITS = X > 0
IMAGES = RNG.uniform(-1, 1, (2, 3, 6, 6)).astype("float32")
ROWS = RNG.uniform(-1, 1, (7, 2)).astype("float32")
LENGTHS = [2, 1, 4]
STARTS = [0, 2, 3]
ONE = fluid.initializer.Constant(1.0)


def sequences(array):
    return fluid.create_lod_tensor(array, [LENGTHS], fluid.CPUPlace())


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    import math
    return np.vectorize(math.erf)(x)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def per_sequence(f):
    return np.concatenate([f(ROWS[s:s + n]) for s, n in zip(STARTS, LENGTHS)])


def one_hot(ids, depth):
    return np.eye(depth, dtype="float32")[ids.ravel()]


def auc_of(p, label):
    """Share of (positive, negative) pairs in the right order."""
    pos, neg = p[label == 1], p[label == 0]
    return np.mean([(a > b) + 0.5 * (a == b) for a in pos for b in neg])


BINARY = np.stack([1 - sigmoid(X[:, 0]), sigmoid(X[:, 0])], axis=1).astype("float32")
BINARY_LABEL = np.array([[1], [0], [1], [0]], dtype="int64")

# name -> (build(inputs) -> results, feed arrays, expected values); None = only that it runs, and its shape is checked.
CASES = {}


def case(name, build, feeds, *expected):
    CASES.setdefault(name, []).append((build, feeds, expected))


for op, f in {
        "relu": lambda x: np.maximum(x, 0), "sigmoid": sigmoid, "logsigmoid": lambda x: np.log(sigmoid(x)),
        "exp": np.exp, "tanh": np.tanh, "tanh_shrink": lambda x: x - np.tanh(x), "abs": np.abs, "ceil": np.ceil,
        "floor": np.floor, "cos": np.cos, "sin": np.sin, "round": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
        "reciprocal": lambda x: 1 / x, "square": np.square, "softplus": lambda x: np.log1p(np.exp(x)),
        "softsign": lambda x: x / (1 + np.abs(x)), "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2, "sign": np.sign,
}.items():
    case(op, getattr(L, op), [X], f(X))
for op, f in {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x)}.items():
    case(op, getattr(L, op), [P], f(P))
case("leaky_relu", lambda x: L.leaky_relu(x, alpha=0.1), [X], np.where(X > 0, X, 0.1 * X))
case("elu", lambda x: L.elu(x, alpha=0.5), [X], np.where(X > 0, X, 0.5 * (np.exp(X) - 1)))
case("relu6", lambda x: L.relu6(x, threshold=1.0), [X], np.clip(X, 0, 1))
case("pow", lambda x: L.pow(x, factor=2.0), [X], X**2)
case("stanh", lambda x: L.stanh(x, 0.5, 1.5), [X], 1.5 * np.tanh(0.5 * X))
case("hard_sigmoid", lambda x: L.hard_sigmoid(x, slope=0.3, offset=0.4), [X], np.clip(0.3 * X + 0.4, 0, 1))
case("swish", lambda x: L.swish(x, beta=2.0), [X], X * sigmoid(2 * X))
case("brelu", lambda x: L.brelu(x, t_min=-1.0, t_max=1.0), [X], np.clip(X, -1, 1))
case("soft_relu", lambda x: L.soft_relu(x, threshold=1.0), [X], np.log1p(np.exp(np.clip(X, -1, 1))))
for op, f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum,
              "min": np.minimum}.items():
    case(f"elementwise_{op}", getattr(L, f"elementwise_{op}"), [X, Y], f(X, Y))
case("elementwise_add", lambda x, y: L.elementwise_add(x, y, axis=0, act="relu"), [X, Y[:, 0]],
     np.maximum(X + Y[:, :1], 0))
case("elementwise_pow", L.elementwise_pow, [P, Y], P**Y)
WHOLE = np.array([[7, 8], [9, 10]], dtype="int64")
case("elementwise_mod", L.elementwise_mod, [WHOLE, WHOLE[::-1] - 6], WHOLE % (WHOLE[::-1] - 6))
case("elementwise_floordiv", L.elementwise_floordiv, [WHOLE, WHOLE[::-1] - 6], WHOLE // (WHOLE[::-1] - 6))
for op, f in {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}.items():
    case(f"reduce_{op}", getattr(L, f"reduce_{op}"), [X], f(X).reshape(1))
    case(f"reduce_{op}", lambda x, op=op: getattr(L, f"reduce_{op}")(x, dim=-1, keep_dim=True), [X],
         f(X, axis=1, keepdims=True))
    case(f"reduce_{op}", lambda x, op=op: getattr(L, f"reduce_{op}")(x, dim=[0, 1]), [IMAGES], f(IMAGES, axis=(0, 1)))
for op, f in {"less_than": np.less, "less_equal": np.less_equal, "greater_than": np.greater,
              "greater_equal": np.greater_equal, "equal": np.equal, "not_equal": np.not_equal}.items():
    case(op, getattr(L, op), [WHOLE, WHOLE.T], f(WHOLE, WHOLE.T))
for op, f in {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}.items():
    case(op, getattr(L, op), [BITS, BITS[::-1]], f(BITS, BITS[::-1]))
case("logical_not", L.logical_not, [BITS], ~BITS)
case("where", L.where, [BITS], np.argwhere(BITS))
case("where", lambda x: L.where(L.less_than(x, L.zeros([1], "float32"))), [X], np.argwhere(X < 0))
case("where", L.where, [np.zeros((2, 3), dtype=bool)], np.zeros((0, 2), dtype="int64"))
case("isfinite", L.isfinite, [X], np.array([True]))
case("mean", L.mean, [X], X.mean().reshape(1))
case("mul", L.mul, [X, Y.T.copy()], X @ Y.T)
case("matmul", lambda x, y: L.matmul(x, y, transpose_y=True, alpha=0.5), [X, Y], 0.5 * X @ Y.T)
case("scale", lambda x: L.scale(x, scale=2.0, bias=1.0, bias_after_scale=False), [X], (X + 1) * 2)
case("sum", lambda x, y: L.sum([x, y]), [X, Y], X + Y)
case("softmax", L.softmax, [X], softmax(X))
case("softmax", lambda x: L.softmax(x, axis=1), [IMAGES], softmax(IMAGES, axis=1))
case("clip", lambda x: L.clip(x, min=-0.5, max=0.5), [X], np.clip(X, -0.5, 0.5))
case("clip_by_norm", lambda x: L.clip_by_norm(x, max_norm=1.0), [X], X / np.sqrt((X * X).sum()))
case("reshape", lambda x: L.reshape(x, shape=[0, -1, 3]), [X], X.reshape(4, 2, 3))
case("transpose", lambda x: L.transpose(x, perm=[0, 3, 1, 2]), [IMAGES], IMAGES.transpose(0, 3, 1, 2))
case("squeeze", lambda x: L.squeeze(x, axes=[1]), [IDS], IDS[:, 0])
case("unsqueeze", lambda x: L.unsqueeze(x, axes=[1, 3]), [X], X[:, None, :, None])
case("flatten", lambda x: L.flatten(x, axis=2), [IMAGES], IMAGES.reshape(6, 36))
case("stack", lambda x, y: L.stack([x, y], axis=1), [X, Y], np.stack([X, Y], axis=1))
case("split", lambda x: L.split(x, num_or_sections=3, dim=1), [X], *np.split(X, 3, axis=1))
case("split", lambda x: L.split(x, num_or_sections=[1, 5]), [X], X[:, :1], X[:, 1:])
case("slice", lambda x: L.slice(x, axes=[0, 1], starts=[1, -3], ends=[3, 10]), [X], X[1:3, -3:])
case("expand", lambda x: L.expand(x, expand_times=[2, 3]), [IDS], np.tile(IDS, (2, 3)))
case("gather", lambda x, i: L.gather(x, i), [X, IDS[:, 0]], X[IDS[:, 0]])
case("one_hot", lambda x: L.one_hot(x, depth=4), [IDS], one_hot(IDS, 4))
case("topk", lambda x: L.topk(x, k=2), [X], -np.sort(-X, axis=1)[:, :2], np.argsort(-X, axis=1)[:, :2])
case("argmax", lambda x: L.argmax(x, axis=1), [X], X.argmax(axis=1))
case("argmin", L.argmin, [X], X.argmin(axis=0))
case("shape", L.shape, [X], np.array([4, 6]))
case("concat", lambda x, y: L.concat([x, y], axis=1), [X, Y], np.concatenate([X, Y], axis=1))
case("sums", lambda x, y: L.sums([x, y, x]), [X, Y], 2 * X + Y)
case("sums", lambda x, y: L.sums([x, y], out=L.create_tensor(dtype="float32", name="given")), [X, Y], X + Y)
case("cast", lambda x: L.cast(x, dtype="int64"), [X], X.astype("int64"))
case("assign", L.assign, [X], X)
case("assign", lambda: L.assign(Y), [], Y)
case("fill_constant", lambda: L.fill_constant([2, 3], "int64", 7), [], np.full((2, 3), 7))
case("fill_constant_batch_size_like",
     lambda x: L.fill_constant_batch_size_like(x, shape=[3, -1], dtype="float32", value=2.5, input_dim_idx=0,
                                               output_dim_idx=1), [X], np.full((3, 4), 2.5))
case("ones", lambda: L.ones([2], "float32"), [], np.ones(2))
case("zeros", lambda: L.zeros([2], "int32"), [], np.zeros(2))
case("zeros_like", L.zeros_like, [X], np.zeros_like(X))
case("create_tensor", lambda x: L.assign(x, L.create_tensor("float32")), [X], X)
case("create_parameter", lambda: L.create_parameter([2, 3], "float32", default_initializer=ONE), [], np.ones((2, 3)))
case("create_global_var", lambda: L.create_global_var([2], 1.5, "float32", persistable=True), [], [1.5, 1.5])
case("Print", lambda x: L.Print(x, print_phase="backward"), [np.array([3.0], "float32")], [3.0])
case("increment", lambda x: L.increment(x, value=2.0, in_place=False), [np.array([3.0], "float32")], [5.0])
case("autoincreased_step_counter", lambda: L.autoincreased_step_counter(begin=5, step=2), [], [5])
case("uniform_random", lambda: L.uniform_random([3, 2], min=0.0, max=1.0), [], None)
case("gaussian_random", lambda: L.gaussian_random([3, 2]), [], None)
case("uniform_random_batch_size_like", lambda x: L.uniform_random_batch_size_like(x, [-1, 2]), [X], None)
case("gaussian_random_batch_size_like", lambda x: L.gaussian_random_batch_size_like(x, [-1, 2]), [X], None)
case("data", lambda x: x, [X], X)
case("fc", lambda x: L.fc(x, size=2, param_attr=ONE, bias_attr=fluid.initializer.Constant(0.5), act="relu"), [X],
     np.maximum(X.sum(axis=1, keepdims=True).repeat(2, axis=1) + 0.5, 0))
case("fc", lambda x: L.fc(x, size=1, num_flatten_dims=2, param_attr=ONE, bias_attr=False), [IMAGES],
     IMAGES.sum(axis=(2, 3))[:, :, None])
TABLE = fluid.initializer.NumpyArrayInitializer(np.arange(8).reshape(4, 2).astype("float32"))
case("embedding", lambda x: L.embedding(x, size=[4, 2], param_attr=TABLE, padding_idx=-1), [IDS],
     np.where(IDS == 3, 0, np.arange(8).reshape(4, 2)[IDS[:, 0]]))
case("conv2d", lambda x: L.conv2d(x, num_filters=2, filter_size=[2, 1], stride=2, param_attr=ONE), [IMAGES],
     (IMAGES[:, :, ::2, ::2] + IMAGES[:, :, 1::2, ::2]).sum(axis=1, keepdims=True).repeat(2, axis=1))
case("pool2d", lambda x: L.pool2d(x, pool_size=2, pool_stride=2), [IMAGES],
     IMAGES.reshape(2, 3, 3, 2, 3, 2).max(axis=(3, 5)))
case("adaptive_pool2d", lambda x: L.adaptive_pool2d(x, pool_size=1, pool_type="avg"), [IMAGES],
     IMAGES.mean(axis=(2, 3), keepdims=True))
case("pool2d", lambda x: L.pool2d(x, pool_type="avg", global_pooling=True), [IMAGES],
     IMAGES.mean(axis=(2, 3), keepdims=True))
case("batch_norm", lambda x: L.batch_norm(x, act="relu"), [X],
     np.maximum((X - X.mean(axis=0)) / np.sqrt(X.var(axis=0) + 1e-5), 0))
case("batch_norm", lambda x: L.batch_norm(x, is_test=True), [X], X / np.sqrt(1 + 1e-5))
case("layer_norm", L.layer_norm, [X],
     (X - X.mean(axis=1, keepdims=True)) / np.sqrt(X.var(axis=1, keepdims=True) + 1e-5))
case("dropout", lambda x: L.dropout(x, dropout_prob=0.25, is_test=True), [X], X * 0.75)
case("dropout", lambda x: L.dropout(x, 1.0), [X], np.zeros_like(X))
POOLS = {"sum": lambda s: s.sum(axis=0), "average": lambda s: s.mean(axis=0), "max": lambda s: s.max(axis=0),
         "sqrt": lambda s: s.sum(axis=0) / np.sqrt(len(s)), "first": lambda s: s[0], "last": lambda s: s[-1]}
for kind, f in POOLS.items():
    case("sequence_pool", lambda x, kind=kind: L.sequence_pool(x, kind), [sequences(ROWS)],
         per_sequence(lambda s, f=f: f(s)[None]))
case("sequence_first_step", L.sequence_first_step, [sequences(ROWS)], ROWS[STARTS])
case("sequence_last_step", L.sequence_last_step, [sequences(ROWS)], ROWS[[1, 2, 6]])
case("sequence_softmax", L.sequence_softmax, [sequences(ROWS[:, :1].copy())],
     per_sequence(lambda s: softmax(s[:, :1], 0)))
case("sequence_expand", L.sequence_expand, [X[:3], sequences(ROWS)], np.repeat(X[:3], LENGTHS, axis=0))
case("square_error_cost", L.square_error_cost, [X, Y], (X - Y)**2)
case("cross_entropy", L.cross_entropy, [PROB, IDS], -np.log(PROB[np.arange(4), IDS[:, 0]])[:, None])
case("cross_entropy", lambda p, y: L.cross_entropy(p, y, soft_label=True), [PROB, PROB],
     -(PROB * np.log(PROB)).sum(axis=1, keepdims=True))
case("softmax_with_cross_entropy", lambda x, y: L.softmax_with_cross_entropy(x, y, return_softmax=True), [X, IDS],
     -np.log(softmax(X)[np.arange(4), IDS[:, 0]])[:, None], softmax(X))
case("sigmoid_cross_entropy_with_logits", L.sigmoid_cross_entropy_with_logits, [X, PROB],
     -PROB * np.log(sigmoid(X)) - (1 - PROB) * np.log(1 - sigmoid(X)))
HALF = PROB[:, :1].copy()
case("log_loss", lambda p, y: L.log_loss(p, y, epsilon=0.01), [HALF, BINARY_LABEL.astype("float32")],
     -BINARY_LABEL * np.log(HALF + 0.01) - (1 - BINARY_LABEL) * np.log(1 - HALF + 0.01))
D = np.abs(X[:, :1] - Y[:, :1])
case("huber_loss", lambda x, y: L.huber_loss(x, y, delta=1.0), [X[:, :1].copy(), Y[:, :1].copy()],
     np.where(D <= 1, D * D / 2, D - 0.5))
case("accuracy", lambda p, y: L.accuracy(p, y, k=2), [PROB, IDS],
     np.mean([IDS[i, 0] in np.argsort(-PROB[i])[:2] for i in range(4)]).reshape(1))
case("auc", lambda p, y: L.auc(p, y)[:2], [BINARY, BINARY_LABEL], [auc_of(BINARY[:, 1], BINARY_LABEL[:, 0])],
     [auc_of(BINARY[:, 1], BINARY_LABEL[:, 0])])
case("cos_sim", L.cos_sim, [X, Y],
     ((X * Y).sum(axis=1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1))[:, None])
case("l2_normalize", lambda x: L.l2_normalize(x, axis=1), [X], X / np.linalg.norm(X, axis=1, keepdims=True))
case("label_smooth", lambda x: L.label_smooth(x, epsilon=0.2), [one_hot(IDS, 4)], one_hot(IDS, 4) * 0.8 + 0.05)
case("label_smooth", lambda x, p: L.label_smooth(x, prior_dist=p, epsilon=0.2), [one_hot(IDS, 4), PROB[:1, :4].copy()],
     one_hot(IDS, 4) * 0.8 + 0.2 * PROB[:1, :4])
_T = one_hot(IDS, 6)
case("dice_loss", L.dice_loss, [PROB, IDS],
     np.mean(1 - 2 * (PROB * _T).sum(axis=1) / (PROB.sum(axis=1) + _T.sum(axis=1) + 1e-5)).reshape(1))
SCORE, OTHER = X[:, :1].copy(), Y[:, :1].copy()
FIRST = BINARY_LABEL.astype("float32")
case("rank_loss", L.rank_loss, [FIRST, SCORE, OTHER], np.log1p(np.exp(SCORE - OTHER)) - FIRST * (SCORE - OTHER))
case("margin_rank_loss", lambda label, a, b: L.margin_rank_loss(label, a, b, margin=0.3), [2 * FIRST - 1, SCORE, OTHER],
     np.maximum(0, 0.3 - (2 * FIRST - 1) * (SCORE - OTHER)))
case("bpr_loss", L.bpr_loss, [X, IDS],
     [[np.mean([np.log1p(np.exp(X[i, j] - X[i, y])) for j in range(6) if j != y])] for i, y in enumerate(IDS[:, 0])])
AWAY = np.abs(X - Y)
case("smooth_l1", lambda x, y: L.smooth_l1(x, y, sigma=2.0), [X, Y],
     np.where(AWAY < 0.25, 2 * AWAY**2, AWAY - 0.125).sum(axis=1, keepdims=True))
for way, by in {"none": 0, "sum": 1, "mean": 24, "batchmean": 4}.items():
    parts = PROB * (np.log(PROB) - X)
    case("kldiv_loss", lambda x, t, way=way: L.kldiv_loss(x, t, reduction=way), [X, PROB],
         parts if way == "none" else [parts.sum() / by])
TEACHER = np.array([[-2.0], [-1.0], [0.3], [1.4]], dtype="float32")
CLICK = np.array([[0.0], [1.0], [0.0], [1.0]])
SOFT = np.log1p(np.exp(SCORE))
case("teacher_student_sigmoid_loss", L.teacher_student_sigmoid_loss, [SCORE, TEACHER],
     SOFT - CLICK * SCORE + np.where(TEACHER < 0, 0, SOFT - (TEACHER - CLICK) * SCORE))
ALPHA = fluid.initializer.Constant(0.3)
case("prelu", lambda x: L.prelu(x, mode="all", param_attr=ALPHA), [X], np.where(X > 0, X, 0.3 * X))
case("prelu", lambda x: L.prelu(x, mode="channel", param_attr=ALPHA), [IMAGES],
     np.where(IMAGES > 0, IMAGES, 0.3 * IMAGES))
case("prelu", lambda x: L.prelu(x, mode="element", param_attr=ALPHA), [IMAGES],
     np.where(IMAGES > 0, IMAGES, 0.3 * IMAGES))
SHOWN = np.log(P[:, :1] + 1)
case("continuous_value_model", lambda x, c: L.continuous_value_model(x, c), [P, Y[:, :2].copy()],
     np.concatenate([SHOWN, np.log(P[:, 1:2] + 1) - SHOWN, P[:, 2:]], axis=1))
case("continuous_value_model", lambda x, c: L.continuous_value_model(x, c, use_cvm=False), [P, Y[:, :2].copy()],
     P[:, 2:])
CONTEXT = per_sequence(lambda r: np.concatenate([np.vstack([np.zeros((1, 2)), r[:-1]]), r], axis=1))
case("sequence_conv", lambda x: L.sequence_conv(x, 2, filter_size=2, padding_start=-1, param_attr=ONE, act="relu"),
     [sequences(ROWS)], np.maximum(CONTEXT.sum(axis=1, keepdims=True).repeat(2, axis=1), 0))
case("data_norm", lambda x: L.data_norm(x, param_attr={"batch_size": 4.0, "batch_sum": 2.0, "batch_square": 16.0}), [X],
     (X - 0.5) * 0.5)
case("hash", lambda x: L.hash(x, hash_size=1000, num_hash=2), [np.array([[2, 3]], dtype="int64")],
     np.array([[[1903288345924078488 % 1000], [6751177836864725337 % 1000]]]))
NCE_O = sigmoid(X.sum(axis=1, keepdims=True))  # one class: what is drawn is known
case("nce", lambda x, y: L.nce(x, y, num_total_classes=1, num_neg_samples=2, param_attr=ONE, bias_attr=False),
     [X, np.zeros((4, 1), dtype="int64")], -(np.log(NCE_O / (NCE_O + 2)) + 2 * np.log(2 / (NCE_O + 2))) / 3)
case("sampled_softmax_with_cross_entropy",
     lambda x, y: L.sampled_softmax_with_cross_entropy(x, y, num_samples=3, seed=3), [X, IDS], None)
case("sampled_softmax_with_cross_entropy",  # one class: its softmax is 1
     lambda x, y: L.sampled_softmax_with_cross_entropy(x, y, num_samples=1), [X[:, :1].copy(), 0 * IDS],
     np.zeros((4, 1)))
TURN = X.sum(axis=1, keepdims=True)  # two classes: one turn
case("hsigmoid", lambda x, y: L.hsigmoid(x, y, num_classes=2, param_attr=ONE), [X, BINARY_LABEL],
     np.log1p(np.exp(TURN)) - TURN * BINARY_LABEL)
case("expand_as", L.expand_as, [SCORE, Y], np.repeat(SCORE, 6, axis=1))
case("cumsum", lambda x: L.cumsum(x, axis=1), [X], np.cumsum(X, axis=1))
case("cumsum", lambda x: L.cumsum(x, axis=0, exclusive=True, reverse=True), [X],
     np.cumsum(X[::-1], axis=0)[::-1] - X)
PLACES = np.array([2, 0], dtype="int64")
REPLACED = X.copy()
REPLACED[PLACES] = Y[:2]
case("scatter", L.scatter, [X, PLACES, Y[:2].copy()], REPLACED)
case("gather_nd", L.gather_nd, [IMAGES, np.array([[1, 2], [0, 0], [1, 2]], dtype="int64")],
     IMAGES[[1, 0, 1], [2, 0, 2]])
case("unstack", lambda x: L.unstack(x, axis=1), [X], *[X[:, k] for k in range(6)])
case("shard_index", lambda x: L.shard_index(x, index_num=4, nshards=2, shard_id=1), [IDS],
     np.where(IDS >= 2, IDS - 2, -1))
case("sequence_reverse", L.sequence_reverse, [sequences(ROWS)], per_sequence(lambda s: s[::-1]))
case("sequence_concat", lambda x, y: L.sequence_concat([x, y]), [sequences(ROWS), sequences(ROWS + 1)],
     per_sequence(lambda s: np.concatenate([s, s + 1])))
case("sequence_expand_as", L.sequence_expand_as, [X[:3], sequences(ROWS)], np.repeat(X[:3], LENGTHS, axis=0))
PADDED = np.full((3, 4, 2), 0.5, dtype="float32")
for row, (start, length) in enumerate(zip(STARTS, LENGTHS)):
    PADDED[row, :length] = ROWS[start:start + length]
case("sequence_pad", lambda x: L.sequence_pad(x, L.assign(np.array([0.5], "float32"))), [sequences(ROWS)], PADDED,
     LENGTHS)
case("sequence_unpad", L.sequence_unpad, [PADDED, np.array(LENGTHS, dtype="int64")], ROWS)
case("sequence_mask", lambda x: L.sequence_mask(x, maxlen=4, dtype="float32"), [np.array(LENGTHS, dtype="int64")],
     [[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
case("sequence_mask", L.sequence_mask, [np.array([2, 0, 3], dtype="int64")], [[1, 1, 0], [0, 0, 0], [1, 1, 1]])
case("lod_reset", lambda x: L.lod_reset(x, target_lod=[0, 3, 4]), [X], X)
for schedule in fluid.layers.learning_rate_scheduler.__all__:  # their values: numeric_test.py
    arguments = {"piecewise_decay": ([3], [0.5, 0.25]), "noam_decay": (4, 2), "cosine_decay": (0.5, 2, 3),
                 "polynomial_decay": (0.5, 4), "linear_lr_warmup": (0.5, 4, 0.0, 0.5)}.get(schedule, (0.5, 4, 0.5))
    case(schedule, lambda s=schedule, a=arguments: getattr(L, s)(*a), [],
         [{"linear_lr_warmup": 0.0, "noam_decay": 0.5 * 2**-1.5}.get(schedule, 0.5)])
