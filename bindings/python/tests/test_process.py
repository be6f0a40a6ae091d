"""Threads, the GIL, fork, the interpreter's end."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import warnings

import trt


class Threads(unittest.TestCase):
    def test_others_run_while_the_library_computes(self):
        # The counting thread must go on during a long product.
        a = trt.randn(1200, 1200)
        count, stop = [0], threading.Event()

        def tick():
            while not stop.is_set():
                count[0] += 1
                time.sleep(0.0005)

        t = threading.Thread(target=tick)
        t.start()
        time.sleep(0.01)
        started = time.perf_counter()
        ticks = 0
        while time.perf_counter() - started < 0.5:
            before = count[0]
            begin = time.perf_counter()
            a @ a
            if time.perf_counter() - begin > 0.01:
                ticks += count[0] - before
        stop.set()
        t.join()
        self.assertGreater(ticks, 3)

    def test_shared_model(self):
        m = trt.nn.Sequential(trt.nn.Linear(8, 16), trt.nn.ReLU(), trt.nn.Linear(16, 2)).eval()
        x = trt.randn(4, 8)
        expected, failures = m(x).tolist(), []

        def work():
            with trt.inference_mode():
                for _ in range(200):
                    if m(x).tolist() != expected:
                        failures.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(failures, [])

    def test_backward_in_threads(self):
        w = trt.ones(10, requires_grad=True)

        def work():
            for _ in range(100):
                y = w * 1
                y.register_hook(lambda g: g)
                y.sum().backward()

        threads = [threading.Thread(target=work) for _ in range(6)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(w.grad.tolist(), [600] * 10)

    def test_number_of_threads(self):
        before = trt.get_num_threads()
        x = trt.randn(100000)
        trt.set_num_threads(1)
        one = x.sum().item()
        trt.set_num_threads(4)
        self.assertEqual((trt.get_num_threads(), x.sum().item()), (4, one))
        trt.set_num_threads(before)
        with self.assertRaises(ValueError):
            trt.set_num_threads(0)

    def test_warnings(self):
        def warned(call, text):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                result = call()
            self.assertEqual(len(found), 1, [str(w.message) for w in found])
            self.assertIs(found[0].category, UserWarning)
            self.assertIn(text, str(found[0].message))
            self.assertEqual(os.path.basename(found[0].filename), os.path.basename(__file__))
            # A filter may make it an exception, which changes nothing else.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with self.assertRaisesRegex(UserWarning, re.escape(text)):
                    call()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
            return result

        F, x = trt.nn.functional, trt.ones(3)
        for loss in F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss:
            warned(lambda: loss(x, trt.ones(3, 1)), "[3, 1] have different shapes")
        warned(lambda: F.mse_loss(trt.ones(9000), trt.ones(2, 1)), "different shapes")  # without the GIL
        for f in F.softmax, F.log_softmax, F.softmin:
            warned(lambda: f(x), "without dim")
        for m in trt.nn.Softmax(), trt.nn.LogSoftmax(), trt.nn.Softmin():
            warned(lambda: m(x), "without dim")
        warned(lambda: F.kl_div(x, x), "batchmean")
        warned(lambda: trt.ones(2, 3, 4).T, "x.mT")
        warned(lambda: trt.tensor(x), "detach().clone()")
        warned(lambda: x.new_tensor(x), "detach().clone()")
        warned(lambda: trt.tensor([1j]).to(trt.float32), "imaginary parts")
        warned(lambda: trt.zeros(1).copy_(trt.tensor([1j])), "imaginary parts")
        warned(lambda: trt.add(x, 1, out=trt.empty(2)), "shape [2] was resized")
        warned(lambda: trt.ones(1).std(), "degree of freedom")
        warned(lambda: trt.ones(3, 1).var(1), "degree of freedom")
        warned(lambda: trt.nn.init.kaiming_uniform_(trt.empty(0, 2)), "without elements")
        warned(lambda: trt.nn.init.trunc_normal_(trt.empty(2), mean=9.0), "deviations")
        warned(lambda: F.upsample(trt.ones(1, 1, 2), 4), "interpolate")
        leaf = trt.ones(2, requires_grad=True)
        inner = leaf * 2
        warned(lambda: inner.grad, "retain_grad()")
        warned(lambda: (leaf * 2).sum().backward(create_graph=True), "create_graph")
        optimizer = trt.optim.SGD([leaf], lr=0.1)
        warned(lambda: trt.optim.lr_scheduler.StepLR(optimizer, 1).step(), "optimizer.step() goes first")
        # Nothing to be warned of.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            F.mse_loss(x, x), F.softmax(x, 0), trt.ones(2, 3).T, F.kl_div(x, x, reduction="batchmean"), trt.ones(2).std(), trt.ones(1).std(correction=0)
            trt.add(x, 1, out=trt.empty(0)), trt.add(x, 1, out=trt.empty(3)), trt.tensor([1j]).real
            inner.retain_grad()
            self.assertTrue(inner.retains_grad and not leaf.retains_grad)
            self.assertIsNone(inner.grad)
            z = trt.tensor([1 + 1j], requires_grad=True)
            (z * z.detach()).real.sum().backward()
            leaf.to(trt.complex64).sum().real.backward()  # the gradient's imaginary part is nobody's
            scheduler = trt.optim.lr_scheduler.StepLR(optimizer, 1)
            optimizer.step(), scheduler.step(), scheduler.step()
            trt.tensor(3.0).H

    def test_log(self):
        lines = []
        trt.set_log_callback(lambda level, message: lines.append((level, message)))
        trt.set_log_level(10)
        # A loss of shapes that broadcast is seldom meant.
        trt.set_log_level(30)
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            before = len(lines)
            loss = getattr(trt.nn.functional, name)
            loss(trt.ones(4, 1), trt.ones(4, 1))
            self.assertEqual(len(lines), before)
            loss(trt.ones(4, 1), trt.ones(4))
            self.assertEqual(lines[before:], [(30, f"{name}: input [4, 1] and target [4] have different shapes and are broadcast; the loss is likely not what is meant")])
        trt.set_log_callback(None)
        self.addCleanup(trt._C._warn_of_logs)
        with self.assertRaises(TypeError):
            trt._C._set_log_callback(3)


@unittest.skipUnless(hasattr(os, "fork"), "there is no fork here")
class Fork(unittest.TestCase):
    def test_child(self):
        x = trt.randn(300, 300)
        expected = (x @ x).sum().item()
        pid = os.fork()
        if pid == 0:
            ok = False
            try:
                y = x.clone().requires_grad_()
                (y * 2).sum().backward()
                ok = (x @ x).sum().item() == expected and y.grad[0, 0].item() == 2
            finally:
                os._exit(0 if ok else 1)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                self.assertEqual(status, 0)
                return
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.fail("the child hangs")


class End(unittest.TestCase):
    """Programs that end in the middle of something."""

    def run_program(self, text, status=0):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stderr if status == 0 else ""), (status, ""), done.stderr)
        return done.stdout

    def test_objects_are_alive(self):
        self.run_program("""
            import trt
            x = trt.ones(3, requires_grad=True)
            y = (x * 2).sum()
            x.register_hook(lambda g: print(g))
            m = trt.nn.Linear(2, 2)
            o = trt.optim.Adam(m.parameters())
            s = trt.optim.lr_scheduler.LambdaLR(o, lambda e: 1.0)
            class F(trt.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 1
                @staticmethod
                def backward(ctx, g): return g
            z = F.apply(x)
            d = trt.data.TensorDataset(trt.ones(3)).map(lambda a: a)
            trt.set_log_callback(print)
        """)

    def test_loader_with_workers(self):
        self.run_program("""
            import trt
            class D(trt.data.Dataset):
                def __len__(self): return 1000
                def __getitem__(self, i):
                    for _ in range(2000): pass
                    return trt.ones(4), i
            loader = trt.data.DataLoader(D(), batch_size=4, num_workers=3)
            it = iter(loader)
            next(it)
        """)

    def test_daemon_thread_computes(self):
        self.run_program("""
            import threading, time, trt
            a = trt.randn(500, 500)
            def work():
                while True: a @ a
            for _ in range(3): threading.Thread(target=work, daemon=True).start()
            time.sleep(0.1)
        """)

    def test_exit_inside_of_a_callback(self):
        self.run_program("""
            import sys, trt
            x = trt.ones(3, requires_grad=True)
            y = x * 1
            y.register_hook(lambda g: sys.exit(7))
            y.sum().backward()
        """, status=7)

    def test_error_at_the_end(self):
        self.run_program("""
            import trt
            h = trt.data.ImageDataset(trt.zeros(2, 2, 2, dtype=trt.uint8))
            raise SystemExit(3)
        """, status=3)

    def test_interrupt(self):
        # A signal while backward runs hooks: KeyboardInterrupt, as in any Python function.
        out = self.run_program("""
            import os, signal, trt
            x = trt.ones(3, requires_grad=True)
            y = x
            for i in range(200):
                y = y * 1
                y.register_hook(lambda g, i=i: os.kill(os.getpid(), signal.SIGINT) if i == 100 else None)
            try:
                y.sum().backward()
                print("no interrupt")
            except KeyboardInterrupt:
                print("interrupted", x.grad)
        """)
        self.assertEqual(out, "interrupted None\n")


if __name__ == "__main__":
    unittest.main()
