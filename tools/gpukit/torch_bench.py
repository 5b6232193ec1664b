"""Times products of matrices, convolutions and networks by PyTorch, and with it cuBLAS and cuDNN, as JSON.

For comparison with `nngpu bench --suite`: the same sizes, float32 and float16, as separate calls and as CUDA graphs,
convolutions in channels_last. Medians, in milliseconds, of times on the device; of networks also of the time that the
host waits for a graph, with its input copied to the device and its output back (host_ms), which is what bench measures.
"""
import json
import sys
import time

try:
    import torch
except ImportError:
    print(json.dumps({"error": "no torch in this Python"}))
    sys.exit(0)
if not torch.cuda.is_available():
    print(json.dumps({"torch": torch.__version__, "error": "torch finds no GPU"}))
    sys.exit(0)

RUNS = 50
GEMMS = [
    (64, 64, 64), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096),
    (1, 4096, 4096), (16, 4096, 4096), (128, 4096, 1024), (3136, 64, 576), (49, 2048, 512), (1000, 1000, 1000),
]
NETWORKS = ["resnet50", "mobilenet_v2", "squeezenet1_1"]
CONVS = [(56, 64, 64, 3), (28, 128, 128, 3), (14, 256, 256, 3), (7, 512, 512, 3), (56, 64, 256, 1), (14, 1024, 256, 1)]


def median_ms(call):
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(RUNS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[RUNS // 2]


def graph_of(call):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def row(name, dtype, gflop, call):
    result = {"what": name, "type": dtype}
    try:
        result["ms"] = median_ms(call)
        result["graph_ms"] = median_ms(graph_of(call))
        result["gflops"] = gflop / min(result["ms"], result["graph_ms"]) * 1e3
    except RuntimeError as err:
        result["error"] = str(err).splitlines()[0]
    return result


def network(name, dtype):
    result = {"what": name, "type": {torch.float32: "f32", torch.float16: "f16"}[dtype]}
    try:
        import torchvision
        net = getattr(torchvision.models, name)(weights=None).eval().to("cuda", dtype).to(memory_format=torch.channels_last)
        x = torch.rand(1, 3, 224, 224, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
        result["ms"] = median_ms(lambda: net(x))
        y = torch.empty_like(net(x))
        replay = graph_of(lambda: y.copy_(net(x)))
        result["graph_ms"] = median_ms(replay)
        host, back = x.cpu().pin_memory(), y.cpu().pin_memory()
        times = []
        for _ in range(RUNS):
            begin = time.perf_counter()
            x.copy_(host, non_blocking=True)
            replay()
            back.copy_(y, non_blocking=True)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        result["host_ms"] = 1e3 * sorted(times)[RUNS // 2]
    except (ImportError, RuntimeError) as err:
        result["error"] = str(err).splitlines()[0]
    return result


def main():
    rows = []
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    with torch.no_grad():
        for dtype in (torch.float32, torch.float16):
            name = {torch.float32: "f32", torch.float16: "f16"}[dtype]
            for m, n, k in GEMMS:
                x, w = torch.rand(m, k, device="cuda", dtype=dtype), torch.rand(n, k, device="cuda", dtype=dtype)
                b = torch.rand(n, device="cuda", dtype=dtype)
                rows.append(row(f"gemm:{m},{n},{k}", name, 2e-9 * m * n * k, lambda: torch.nn.functional.linear(x, w, b)))
            for side, ci, co, size in CONVS:
                x = torch.rand(1, ci, side, side, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
                conv = torch.nn.Conv2d(ci, co, size, padding=size // 2).to("cuda", dtype).to(memory_format=torch.channels_last)
                rows.append(row(f"conv {side}x{side}, {ci} to {co}, {size}x{size}", name, 2e-9 * side * side * ci * co * size * size, lambda: conv(x)))
        rows += [network(name, dtype) for name in NETWORKS for dtype in (torch.float16, torch.float32)]
    print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "device": torch.cuda.get_device_name(), "rows": rows}))


main()
