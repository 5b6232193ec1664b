package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// part is a list of steps with a limit for all of them together.
type part struct {
	name, what string
	limit      time.Duration
	steps      func(*kit) []step
}

// parts are ordered by their value: what is known of a device after the first few is most of what is to be known.
var parts = []part{
	{"facts", "the device, its limits, what it can do at most and what commands cost", 2 * time.Minute, facts},
	{"right", "whether it computes rightly: all variants, networks, real models, a tenth of the conformance models", 7 * time.Minute, right},
	{"bench", "networks in all types, ways of input and output, starts", 8 * time.Minute, bench},
	{"gemm", "products of matrices, beside those of PyTorch where that is", 4 * time.Minute, gemm},
	{"profile", "where the time of the worst two networks goes", 4 * time.Minute, profiles},
	{"qos", "urgent work beside long work", 5 * time.Minute, qos},
	{"memory", "memory and fences exchanged with other programs", 5 * time.Minute, memories},
	{"conformance", "all conformance models", 9*time.Minute - 10*time.Second, conformance},
	{"loss", "a kernel that hangs, and the device after it", 3 * time.Minute, loss},
}

// firstParts is how many parts "first" stands for; together they take 25 minutes at most.
const firstParts = 5

// quick bounds steps that take seconds.
const quick = time.Minute

func facts(*kit) []step {
	return []step{
		{Name: "device", Args: []string{"nngpu", "info", "--measure", "--json"}, Limit: 90 * time.Second},
		{Name: "device, in words", Args: []string{"nngpu", "info"}, Limit: quick},
		{Name: "version", Args: []string{"nngpu", "version", "--json"}, Limit: quick},
		{Name: "NVIDIA", Args: []string{"nvidia-smi"}, Limit: quick, Optional: true},
		{Name: "Vulkan", Args: []string{"vulkaninfo", "--summary"}, Limit: quick, Optional: true},
	}
}

func right(k *kit) []step {
	steps := []step{
		{Name: "self-test", Args: []string{"nngpu", "verify", "%D/models/hello_world_f32", "-v"}, Limit: quick},
		{Name: "real models", Args: append([]string{"nngpu", "verify", "--json"}, k.models()...), Limit: 2 * time.Minute},
		{Name: "networks", Args: test("networks", "TestDevices"), Limit: 2 * time.Minute},
		{Name: "a tenth of conformance", Args: []string{"nngpu", "conformance", "%D/tenth", "--json"}, Limit: 3 * time.Minute},
		{Name: "variants", Args: test("differential", "TestConvInSharedMemory|TestWithout"), Limit: 3 * time.Minute},
	}
	return append(steps, step{
		Name: "real models, validated", Args: append([]string{"nngpu", "verify", "--json"}, k.models()...),
		Env: []string{"NNGPU_VALIDATION=1"}, Limit: 2 * time.Minute,
	})
}

// test are the arguments that run some tests of a test program.
func test(name, pattern string) []string {
	return []string{name + ".test", "-test.run", "^(" + pattern + ")$", "-test.v"}
}

// models are the folders of the models in the kit.
func (k *kit) models() []string {
	list, _ := filepath.Glob(filepath.Join(k.data(), "models", "*", "model.tflite")) // the pattern is sound
	for i, path := range list {
		list[i] = filepath.Dir(path)
	}
	return list
}

func bench(k *kit) []step {
	var steps []step
	each := 105 * time.Second
	if !k.software {
		each = 90 * time.Second
	}
	for _, typ := range []string{"int8", "f32", "f16"} { // apart, so that a slow device is done with some
		steps = append(steps, suite("networks, "+typ, each, "--type", typ, "--duration", "2s", "--output", "%O/suite-"+typ))
	}
	for _, io := range []string{"host", "pool", "device"} {
		steps = append(steps, suite("io "+io, 20*time.Second, "gemm:1,64,64", "mobilenet_v2", "--type", "f32", "--io", io, "--duration", "1s"))
	}
	for _, typ := range []string{"int8", "f32"} {
		steps = append(steps, step{
			Name: "start of mobilenet_v2, " + typ, Limit: 50 * time.Second,
			Args: []string{"nngpu", "bench", "--net", "mobilenet_v2", "--type", typ, "--startup", "--json"},
		})
	}
	if !k.software {
		steps = append(steps, suite("networks, eight at once", 45*time.Second, "--batch", "8", "--duration", "1s", "--output", "%O/batch8"))
	}
	return steps
}

// suite runs networks side by side within a limit: the command ends by itself a while before, with what it has by then.
func suite(name string, limit time.Duration, args ...string) step {
	const spare = 10 * time.Second // for one long execution, and for closing
	args = append([]string{"nngpu", "bench", "--suite", "--json", "--budget", (limit - spare).String()}, args...)
	return step{Name: name, Args: args, Limit: limit}
}

func gemm(k *kit) []step {
	args := []string{"--duration", "1s", "--output", "%O/gemm"}
	sizes := []string{"64,64,64", "256,256,256", "512,512,512", "1,4096,4096", "3136,64,576", "49,2048,512"}
	if !k.software {
		sizes = append(sizes, "1024,1024,1024", "2048,2048,2048", "4096,4096,4096", "16,4096,4096", "128,4096,1024", "1000,1000,1000")
	}
	for _, s := range sizes {
		args = append(args, "gemm:"+s)
	}
	steps := []step{suite("products", 100*time.Second, args...)}
	if !k.software { // what their kernels take, without the way of matrices to the device and back
		for _, typ := range []string{"f16", "f32", "int8"} {
			steps = append(steps, step{
				Name: "kernels, " + typ, Limit: 20 * time.Second,
				Args: []string{"nngpu", "profile", "--net", "gemm:4096,4096,4096", "--type", typ, "--json", "--runs", "20"},
			})
		}
	}
	return append(steps, step{Name: "PyTorch", Args: []string{"python3", "%D/torch_bench.py"}, Limit: 80 * time.Second, Optional: true})
}

// profiles looks for the networks that reach the least of their ceilings in the results of bench. Before there are
// results it takes two unlike networks.
func profiles(k *kit) []step {
	type network struct {
		Network, Type, Error string
		Percent              float64
	}
	var worst []network
	files, _ := filepath.Glob(filepath.Join(k.out, "suite-*", "suite.json")) // the pattern is sound
	for _, path := range files {
		var suite struct{ Rows []network }
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &suite) == nil {
			worst = append(worst, suite.Rows...)
		}
	}
	worst = slices.DeleteFunc(worst, func(n network) bool { return n.Error != "" || strings.HasPrefix(n.Network, "gemm:") })
	slices.SortStableFunc(worst, func(a, b network) int { return cmp.Compare(a.Percent, b.Percent) })
	if len(worst) < 2 {
		worst = []network{{Network: "mobilenet_v2", Type: "int8"}, {Network: "resnet50", Type: "f32"}}
	}
	var steps []step
	for _, n := range worst[:2] {
		steps = append(steps, step{
			Name: n.Network + ", " + n.Type, Limit: 100 * time.Second,
			Args: []string{"nngpu", "profile", "--net", n.Network, "--type", n.Type, "--json", "--html", fmt.Sprintf("%%O/profile-%s-%s.html", n.Network, n.Type)},
		})
	}
	return steps
}

func qos(k *kit) []step {
	batch := "16"
	if k.software {
		batch = "1"
	}
	small, large := "%W/mobilenet_v2.tflite", "%W/resnet50.tflite"
	return []step{
		{Name: "urgent network", Args: []string{"nngpu", "net", "mobilenet_v2", "--type", "int8", "-o", small}, Limit: quick},
		{Name: "long network", Args: []string{"nngpu", "net", "resnet50", "--batch", batch, "-o", large}, Limit: quick},
		{Name: "beside it", Args: []string{"nngpu", "bench", small, "--against", large + ":low", "--duration", "5s", "--json"}, Limit: 90 * time.Second},
		{Name: "with deadlines", Args: []string{"nngpu", "bench", small, "--against", large + ":low", "--duration", "5s", "--rate", "20", "--deadline", "50ms", "--json"}, Limit: 90 * time.Second},
		{Name: "of equal priority", Args: []string{"nngpu", "bench", small, "--against", large + ":high", "--duration", "5s", "--json"}, Limit: 90 * time.Second},
	}
}

func memories(*kit) []step {
	return []step{
		{Name: "kinds of memory", Args: []string{"nngpu", "info", "--json"}, Limit: quick},
		{Name: "imports and exports", Args: test("gpu", "TestExternal.*|TestImport.*|TestImages.*|TestMemory.*|TestProgram.*"), Limit: 3 * time.Minute},
		{Name: "of the device", Args: test("vulkan", "TestExport.*|TestImport.*"), Limit: 2 * time.Minute},
	}
}

func conformance(*kit) []step {
	return []step{{Name: "conformance", Args: []string{"nngpu", "conformance", "%D/conformance", "--json"}, Limit: 9 * time.Minute}}
}

func loss(*kit) []step {
	return []step{
		{Name: "hanging kernel", Args: test("vulkan", "TestHang.*|TestAbandon"), Limit: 90 * time.Second},
		{Name: "the device after it", Args: []string{"nngpu", "verify", "%D/models/hello_world_f32", "--json"}, Limit: quick},
		{Name: "NVIDIA", Args: []string{"nvidia-smi"}, Limit: quick, Optional: true},
	}
}
