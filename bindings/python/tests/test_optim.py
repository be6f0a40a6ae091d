"""Optimizers and schedulers."""

import gc
import math
import unittest
import weakref

import trt
from trt import nn, optim
from trt.optim import lr_scheduler


def parameter(*values):
    p = nn.Parameter(trt.tensor(values))
    p.grad = trt.ones(len(values))
    return p


class Optimizers(unittest.TestCase):
    def test_sgd(self):
        p = parameter(1.0, 2.0)
        o = optim.SGD([p], lr=0.5, momentum=0.9)
        o.step()
        o.step()
        trt.testing.assert_close(p.detach(), trt.tensor([1 - 0.5 - 0.95, 2 - 0.5 - 0.95]))
        self.assertIs(o.param_groups[0]["params"][0], p)
        self.assertEqual(o.state[p]["momentum_buffer"].tolist(), trt.tensor([1.9, 1.9]).tolist())

    def test_adam(self):
        for kind, decay in ((optim.Adam, 0.0), (optim.AdamW, 0.1)):
            p = parameter(1.0)
            o = kind([p], lr=0.1, betas=(0.5, 0.9), weight_decay=decay)
            self.assertEqual(o.param_groups[0]["betas"], (0.5, 0.9))
            o.step()
            self.assertAlmostEqual(p.item(), (1 - 0.1 * decay) - 0.1, 5)
        self.assertEqual(optim.AdamW([parameter(1.0)]).param_groups[0]["weight_decay"], 0.01)
        self.assertIs(optim.Adam([parameter(1.0)], amsgrad=True).param_groups[0]["amsgrad"], True)

    def test_pairs(self):
        for bad in ((0.9,), (0.9, 0.99, 0.999)):
            with self.assertRaisesRegex(ValueError, "betas are two numbers"):
                optim.Adam([parameter(1.0)], betas=bad)
            o = optim.AdamW([parameter(1.0)])
            with self.assertRaisesRegex(ValueError, "betas are two numbers"):
                o.param_groups[0]["betas"] = bad
            self.assertEqual(o.param_groups[0]["betas"], (0.9, 0.999))

    def test_groups(self):
        a, b, c = parameter(1.0), parameter(1.0), parameter(1.0)
        o = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.25, "name": "second"}], lr=0.5)
        o.add_param_group({"params": [c], "lr": 1.0})
        self.assertEqual([g["lr"] for g in o.param_groups], [0.5, 0.25, 1.0])
        self.assertEqual(o.param_groups[1]["name"], "second")
        o.step()
        self.assertEqual([a.item(), b.item(), c.item()], [0.5, 0.75, 0.0])
        for g in o.param_groups:
            g["lr"] = 0.0
        o.step()
        self.assertEqual(a.item(), 0.5)
        self.assertIn("lr", o.param_groups[0])
        self.assertEqual(set(o.param_groups[0]), {"params", "lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize"})
        with self.assertRaises(KeyError):
            o.param_groups[0]["nonsense"]
        with self.assertRaises((RuntimeError, ValueError)):
            o.add_param_group({"params": [a]})
        self.assertIn("lr: 0.0", repr(o))

    def test_bad_arguments(self):
        p = parameter(1.0)
        for bad, error in ((lambda: optim.SGD([]), ValueError), (lambda: optim.SGD(p), TypeError), (lambda: optim.SGD([p * 2]), ValueError),
                           (lambda: optim.SGD([p], lr=-1), ValueError), (lambda: optim.SGD([3]), TypeError), (lambda: optim.SGD([p], nesterov=True), ValueError),
                           (lambda: optim.Adam([p], betas=(2, 0)), ValueError), (lambda: optim.SGD([p, p]), ValueError)):
            with self.assertRaises(error):
                bad()

    def test_zero_grad_and_closure(self):
        p = parameter(1.0)
        o = optim.SGD([p], lr=0.5)

        @trt.no_grad()
        def step():
            return o.step(closure)

        def closure():
            o.zero_grad()
            loss = (p * p).sum()
            loss.backward()
            return loss

        self.assertEqual(step().item(), 1.0)
        self.assertEqual(p.item(), 0.0)
        o.zero_grad(set_to_none=False)
        self.assertEqual(p.grad.item(), 0)
        o.zero_grad()
        self.assertIsNone(p.grad)

    def test_state(self):
        def make():
            p = parameter(1.0, 2.0)
            return p, optim.AdamW([p], lr=0.1)

        p, a = make()
        a.step()
        state = {k: v.clone() for k, v in a.state_dict().items()}
        q, b = make()
        q.data.copy_(p.detach())
        b.load_state_dict(state)
        a.step()
        b.step()
        self.assertEqual(p.tolist(), q.tolist())
        with self.assertRaises(trt.Error):
            optim.SGD([parameter(1.0)]).load_state_dict(state)

    def test_in_python(self):
        class Plain(optim.Optimizer):
            def __init__(self, params, lr=0.1):
                super().__init__(params, dict(lr=lr))

            @trt.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        state["step"] = state.get("step", 0) + 1
                        p.add_(p.grad, alpha=-group["lr"])

        p = parameter(1.0)
        o = Plain([p])
        o.step()
        self.assertAlmostEqual(p.item(), 0.9, 6)
        other = Plain([p])
        other.load_state_dict(o.state_dict())
        self.assertEqual(other.state[p]["step"], 1)


class Schedulers(unittest.TestCase):
    def rates(self, make, steps=6):
        o = optim.SGD([parameter(1.0)], lr=1.0, momentum=0.9)
        s = make(o)
        found = [o.param_groups[0]["lr"]]
        for _ in range(steps):
            o.step()
            s.step()
            self.assertEqual(s.get_last_lr(), [o.param_groups[0]["lr"]])
            found.append(o.param_groups[0]["lr"])
        self.assertEqual(s.last_epoch, steps)
        return found

    def compare(self, found, expected):
        for a, b in zip(found, expected):
            self.assertAlmostEqual(a, b, 9)

    def test_formulas(self):
        r = range(7)
        self.compare(self.rates(lambda o: lr_scheduler.StepLR(o, 2)), [0.1 ** (i // 2) for i in r])
        self.compare(self.rates(lambda o: lr_scheduler.MultiStepLR(o, [1, 4], 0.5)), [1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25])
        self.compare(self.rates(lambda o: lr_scheduler.ExponentialLR(o, 0.5)), [0.5**i for i in r])
        self.compare(self.rates(lambda o: lr_scheduler.ConstantLR(o, 0.5, 3)), [0.5, 0.5, 0.5, 1, 1, 1, 1])
        self.compare(self.rates(lambda o: lr_scheduler.LinearLR(o, 0.5, 1.0, 2)), [0.5, 0.75, 1, 1, 1, 1, 1])
        self.compare(self.rates(lambda o: lr_scheduler.PolynomialLR(o, 4)), [1, 0.75, 0.5, 0.25, 0, 0, 0])
        self.compare(self.rates(lambda o: lr_scheduler.CosineAnnealingLR(o, 6)), [(1 + math.cos(math.pi * i / 6)) / 2 for i in r])
        self.compare(self.rates(lambda o: lr_scheduler.LambdaLR(o, lambda e: 1 / (1 + e))), [1 / (1 + i) for i in r])
        self.compare(self.rates(lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.1, 2), lr_scheduler.ExponentialLR(o, 0.5)], [2])),
                     [0.1, 0.1, 1, 0.5, 0.25, 0.125, 0.0625])
        one = self.rates(lambda o: lr_scheduler.OneCycleLR(o, 1.0, total_steps=8))
        self.assertAlmostEqual(one[0], 1 / 25)
        self.assertGreater(max(one), 0.95)

    def test_momentum_of_one_cycle(self):
        o = optim.Adam([parameter(1.0)])
        lr_scheduler.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=5)
        self.assertEqual(o.param_groups[0]["betas"], (0.95, 0.999))
        with self.assertRaises(ValueError):
            lr_scheduler.OneCycleLR(o, 0.1)

    def test_cycles_are_collected(self):
        class Trainer:
            def __init__(self):
                self.optimizer = optim.SGD([trt.ones(1, requires_grad=True)], lr=1.0)
                self.scheduler = lr_scheduler.SequentialLR(self.optimizer, [lr_scheduler.LambdaLR(self.optimizer, self.rate), lr_scheduler.StepLR(self.optimizer, 1)], [2])

            def rate(self, epoch):
                return 1 / (epoch + 1)

        trainer = Trainer()
        gc.collect()
        trainer.optimizer.step()
        trainer.scheduler.step()
        self.assertEqual(trainer.scheduler.get_last_lr(), [0.5])
        ref = weakref.ref(trainer)
        del trainer
        gc.collect()
        self.assertIsNone(ref())

    def test_errors_in_lambdas(self):
        o = optim.SGD([parameter(1.0)], lr=1.0)

        def factor(epoch):
            if epoch == 2:
                raise KeyError("the original message")
            return 1.0

        s = lr_scheduler.LambdaLR(o, factor)
        s.step()
        with self.assertRaisesRegex(KeyError, "the original message"):
            s.step()
        with self.assertRaises(TypeError):
            lr_scheduler.LambdaLR(o, lambda e: "a")
        with self.assertRaises(ValueError):
            lr_scheduler.LambdaLR(o, [factor, factor])

    def test_state(self):
        o = optim.SGD([parameter(1.0)], lr=1.0)
        s = lr_scheduler.StepLR(o, 1)
        s.step()
        state = {k: v.clone() for k, v in s.state_dict().items()}
        t = lr_scheduler.StepLR(optim.SGD([parameter(1.0)], lr=1.0), 1)
        t.load_state_dict(state)
        self.assertEqual(t.last_epoch, 1)

    def test_plateau(self):
        o = optim.SGD([parameter(1.0)], lr=1.0)
        s = lr_scheduler.ReduceLROnPlateau(o, patience=1, factor=0.5)
        for loss in (1.0, 0.9, 0.9, 0.9, 0.9, 0.8):
            s.step(loss)
        self.assertEqual(o.param_groups[0]["lr"], 0.5)


if __name__ == "__main__":
    unittest.main()
