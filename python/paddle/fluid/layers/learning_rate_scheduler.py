"""Learning rates that change with the step.

Each returns a variable to give to an optimizer. All share the counter `@LR_DECAY_COUNTER@`, which the first op of
the program increments; the first step is 0 (for noam_decay 1).

    rate = fluid.layers.exponential_decay(0.1, decay_steps=1000, decay_rate=0.5)
    fluid.optimizer.SGD(learning_rate=rate).minimize(loss)
"""
from __future__ import annotations

from typing import Sequence, Union

from ._call import Variable, schedule

__all__ = ["cosine_decay", "exponential_decay", "inverse_time_decay", "linear_lr_warmup", "natural_exp_decay",
           "noam_decay", "piecewise_decay", "polynomial_decay"]


def exponential_decay(learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Variable:
    """learning_rate * decay_rate ^ (step / decay_steps); `staircase` takes whole periods only."""
    return schedule("exponential_decay", learning_rate=learning_rate, decay_steps=decay_steps, decay_rate=decay_rate,
                    staircase=staircase)


def natural_exp_decay(learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Variable:
    """learning_rate * e ^ (-decay_rate * step / decay_steps); `staircase` takes whole periods only."""
    return schedule("natural_exp_decay", learning_rate=learning_rate, decay_steps=decay_steps, decay_rate=decay_rate,
                    staircase=staircase)


def inverse_time_decay(learning_rate: float, decay_steps: float, decay_rate: float,
                       staircase: bool = False) -> Variable:
    """learning_rate / (1 + decay_rate * step / decay_steps); `staircase` takes whole periods only."""
    return schedule("inverse_time_decay", learning_rate=learning_rate, decay_steps=decay_steps, decay_rate=decay_rate,
                    staircase=staircase)


def polynomial_decay(learning_rate: float, decay_steps: float, end_learning_rate: float = 0.0001, power: float = 1.0,
                     cycle: bool = False) -> Variable:
    """(learning_rate - end) * (1 - step / decay_steps) ^ power + end, down to the end rate.

    Args:
        learning_rate: the rate at the start.
        decay_steps: steps until the end.
        end_learning_rate: the rate at the end.
        power: 1 = a line.
        cycle: start again, with a longer period, where the end is reached.
    """
    return schedule("polynomial_decay", learning_rate=learning_rate, decay_steps=decay_steps,
                    end_learning_rate=end_learning_rate, power=power, cycle=cycle)


def piecewise_decay(boundaries: Sequence[int], values: Sequence[float]) -> Variable:
    """values[i] while step < boundaries[i], then the last value: one value more than boundaries."""
    return schedule("piecewise_decay", boundaries=boundaries, values=values)


def noam_decay(d_model: float, warmup_steps: float, learning_rate: float = 1.0) -> Variable:
    """learning_rate * d_model ^ -0.5 * min(step ^ -0.5, step * warmup_steps ^ -1.5)."""
    rate = schedule("noam_decay", d_model=d_model, warmup_steps=warmup_steps)
    if learning_rate == 1.0:
        return rate
    block = rate.block
    out = block.create_var(name=block._new_name("tmp"), dtype=rate.dtype)
    block.append_op(type="scale", inputs={"X": [rate]}, outputs={"Out": [out]},
                    attrs={"scale": float(learning_rate), "op_role": rate.op.attr("op_role")})
    return out


def cosine_decay(learning_rate: float, step_each_epoch: float, epochs: float) -> Variable:
    """learning_rate / 2 * (cos(epoch * pi / epochs) + 1), with epoch = floor(step / step_each_epoch)."""
    return schedule("cosine_decay", learning_rate=learning_rate, step_each_epoch=step_each_epoch, epochs=epochs)


def linear_lr_warmup(learning_rate: Union[float, Variable], warmup_steps: float, start_lr: float,
                     end_lr: float) -> Variable:
    """Rises from start_lr to end_lr over warmup_steps, then is `learning_rate`: a number or another schedule."""
    return schedule("linear_lr_warmup", learning_rate=learning_rate, warmup_steps=warmup_steps, start_lr=start_lr,
                    end_lr=end_lr)
