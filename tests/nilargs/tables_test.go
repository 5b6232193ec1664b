package nilargs

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/memory"
	"github.com/nngpu/nngpu/qos"
)

// env is what the calls are made on.
type env struct {
	ctx       context.Context
	device    *driver.Device
	client    *driver.Client
	model     *driver.PreparedModel // of sum
	named     *driver.PreparedModel // of sum with names
	buffer    *driver.Buffer
	fenced    *driver.FencedExecution
	scheduler *qos.Scheduler
	queue     *qos.Client
	store     *cache.Store
	hashes    *cache.HashMap
	file      *os.File
	backends  []*gpu.Backend
}

// noContext, noMemory and others are nil pointers behind an interface.
type (
	noContext struct{ context.Context }
	noMemory  struct{ nn.Memory }
	noData    struct{ backend.Data }
	noWriter  struct{ strings.Builder }
)

// Every way of having nothing.
var (
	contexts = []context.Context{nil, (*noContext)(nil)}
	pools    = []nn.Memory{
		nil, (*noMemory)(nil), (*memory.Mapped)(nil), (*memory.File)(nil), (*memory.DMABuf)(nil), (*memory.Opaque)(nil),
		(*memory.Image)(nil), (*nn.HostMemory)(nil),
	}
	models   = []*nn.Model{nil}
	requests = []*nn.Request{nil}
	files    = []*os.File{nil}
)

// each calls f with each of list.
func each[T any](list []T, f func(T) error) (errs []error) {
	for _, v := range list {
		errs = append(errs, f(v))
	}
	return errs
}

// one is the error of a single call.
func one(err error) []error { return []error{err} }

// sum is z = x + y of four floats.
func sum() *nn.Model {
	return &nn.Model{Main: nn.Graph{
		Operands: []nn.Operand{
			{Type: nn.TensorFloat32, Dims: nn.Dims{4}, Lifetime: nn.SubgraphInput},
			{Type: nn.TensorFloat32, Dims: nn.Dims{4}, Lifetime: nn.SubgraphInput},
			{Type: nn.Int32, Lifetime: nn.ConstantCopy, Location: nn.Location{Length: 4}},
			{Type: nn.TensorFloat32, Dims: nn.Dims{4}, Lifetime: nn.SubgraphOutput},
		},
		Operations: []nn.Operation{{Type: nn.OpAdd, Inputs: []uint32{0, 1, 2}, Outputs: []uint32{3}}},
		Inputs:     []uint32{0, 1}, Outputs: []uint32{3},
	}, Values: make([]byte, 4)}
}

// floats and raw are inputs of sum by name.
var (
	floats = map[string][]float32{"x": make([]float32, 4), "y": make([]float32, 4)}
	raw    = map[string][]byte{"x": make([]byte, 16), "y": make([]byte, 16)}
)

// constantIn is sum with its second input in a pool.
func constantIn(p nn.Memory) *nn.Model {
	m := sum()
	m.Main.Inputs = m.Main.Inputs[:1]
	m.Main.Operands[1].Lifetime, m.Main.Operands[1].Location = nn.ConstantReference, nn.Location{Length: 16}
	m.Pools = []nn.Memory{p}
	return m
}

// withoutScales is sum with an input of one scale a channel that has none.
func withoutScales() *nn.Model {
	m := sum()
	m.Main.Operands[1].Type, m.Main.Operands[1].Channel = nn.TensorQuant8PerChannel, nil
	return m
}

// referencing is sum with a graph that it could refer to.
func referencing() *nn.Model {
	m := sum()
	m.Referenced = []nn.Graph{withoutScales().Main}
	return m
}

// requestOn reads and writes p.
func requestOn(p nn.Memory) *nn.Request {
	at := func(offset uint32) nn.RequestArgument {
		return nn.RequestArgument{Location: nn.Location{Offset: offset, Length: 16}}
	}
	return &nn.Request{Inputs: []nn.RequestArgument{at(0), at(16)}, Outputs: []nn.RequestArgument{at(32)}, Pools: []nn.Memory{p}}
}

func good() *nn.Request { return requestOn(make(nn.HostMemory, 48)) }

// vulkan calls f with each Vulkan device that there is.
func vulkan(f func(b *gpu.Backend) []error) func(e *env) []error {
	return func(e *env) (errs []error) {
		for _, b := range e.backends {
			errs = append(errs, f(b)...)
		}
		return errs
	}
}

// jobWith is a job that f takes something away from.
func jobWith(f func(*qos.Job)) *qos.Job { j := &qos.Job{}; f(j); return j }

func second[A any](_ A, err error) error { return err }

func third[A, B any](_ A, _ B, err error) error { return err }

// refusals has each place where nil is INVALID_ARGUMENT, with calls that pass it there.
var refusals = map[string]func(e *env) []error{
	"driver.Buffer.CopyFrom ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return e.buffer.CopyFrom(c, make(nn.HostMemory, 16), nil) })
	},
	"driver.Buffer.CopyFrom m": func(e *env) []error {
		return each(pools, func(p nn.Memory) error { return e.buffer.CopyFrom(e.ctx, p, nil) })
	},
	"driver.Buffer.CopyTo ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return e.buffer.CopyTo(c, make(nn.HostMemory, 16)) })
	},
	"driver.Buffer.CopyTo m": func(e *env) []error {
		return each(pools, func(p nn.Memory) error {
			_ = e.buffer.CopyFrom(e.ctx, make(nn.HostMemory, 16), nil)
			return e.buffer.CopyTo(e.ctx, p)
		})
	},
	"driver.Buffer.View ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error {
			return e.buffer.View(c, func(backend.Memory) error { return nil })
		})
	},
	"driver.Buffer.View use": func(e *env) []error { return []error{e.buffer.View(e.ctx, nil)} },
	"driver.Burst.Execute ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.model.Burst().Execute(c, good(), []int32{0})) })
	},
	"driver.Burst.Execute r": func(e *env) []error {
		return each(requests, func(r *nn.Request) error { return second(e.model.Burst().Execute(e.ctx, r, nil)) })
	},
	"driver.Burst.Execute r.Pools[]": func(e *env) []error {
		return each(pools, func(p nn.Memory) error {
			return second(e.model.Burst().Execute(e.ctx, requestOn(p), []int32{0}))
		})
	},
	"driver.Burst.Execute opts[]": func(e *env) []error {
		return one(second(e.model.Burst().Execute(e.ctx, good(), []int32{0}, nil)))
	},
	"driver.Client.Allocate inputs[].Model": func(e *env) []error {
		return one(second(e.client.Allocate(driver.BufferDesc{}, []driver.BufferRole{{Probability: 1}}, nil)))
	},
	"driver.Client.Allocate outputs[].Model": func(e *env) []error {
		return one(second(e.client.Allocate(driver.BufferDesc{}, nil, []driver.BufferRole{{Probability: 1}})))
	},
	"driver.Client.PrepareModel ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.client.PrepareModel(c, sum())) })
	},
	"driver.Client.PrepareModel m": func(e *env) []error {
		return each(models, func(m *nn.Model) error { return second(e.client.PrepareModel(e.ctx, m)) })
	},
	"driver.Client.PrepareModel m.Main.Operands[].Channel": func(e *env) []error {
		return one(second(e.client.PrepareModel(e.ctx, withoutScales())))
	},
	"driver.Client.PrepareModel m.Referenced[].Operands[].Channel": func(e *env) []error {
		return one(second(e.client.PrepareModel(e.ctx, referencing())))
	},
	"driver.Client.PrepareModel m.Pools[]": func(e *env) []error {
		return each(pools, func(p nn.Memory) error { return second(e.client.PrepareModel(e.ctx, constantIn(p))) })
	},
	"driver.Client.PrepareModel opts[]": func(e *env) []error {
		return one(second(e.client.PrepareModel(e.ctx, sum(), nil)))
	},
	"driver.Client.PrepareModelFromCache ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error {
			return second(e.client.PrepareModelFromCache(c, cache.Token{}, []*os.File{e.file}, []*os.File{e.file}))
		})
	},
	"driver.Client.PrepareModelFromCache model[]": func(e *env) []error {
		return each(files, func(f *os.File) error {
			return second(e.client.PrepareModelFromCache(e.ctx, cache.Token{}, []*os.File{f}, []*os.File{e.file}))
		})
	},
	"driver.Client.PrepareModelFromCache data[]": func(e *env) []error {
		return each(files, func(f *os.File) error {
			return second(e.client.PrepareModelFromCache(e.ctx, cache.Token{}, []*os.File{e.file}, []*os.File{f}))
		})
	},
	"driver.Client.PrepareModelFromCache opts[]": func(e *env) []error {
		return one(second(e.client.PrepareModelFromCache(e.ctx, cache.Token{}, []*os.File{e.file}, []*os.File{e.file}, nil)))
	},
	"driver.Device.NewClient opts[]": func(e *env) []error { return one(second(e.device.NewClient("test", nil))) },
	"driver.Device.SupportedOperations m": func(e *env) []error {
		return each(models, func(m *nn.Model) error { return third(e.device.SupportedOperations(m)) })
	},
	"driver.Device.SupportedOperations m.Main.Operands[].Channel": func(e *env) []error {
		return one(third(e.device.SupportedOperations(withoutScales())))
	},
	"driver.Device.SupportedOperations m.Referenced[].Operands[].Channel": func(e *env) []error {
		return one(third(e.device.SupportedOperations(referencing())))
	},
	"driver.Device.SupportedOperations m.Pools[]": func(e *env) []error {
		return each(pools, func(p nn.Memory) error { return third(e.device.SupportedOperations(constantIn(p))) })
	},
	"driver.Fence.Wait ctx": func(*env) []error {
		return each(contexts, func(c context.Context) error { return driver.NewFence().Wait(c) })
	},
	"driver.FencedExecution.SyncFile ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.fenced.SyncFile(c)) })
	},
	"driver.ImportFence file": func(*env) []error {
		return each(files, func(f *os.File) error { return second(driver.ImportFence(f)) })
	},
	"driver.PreparedModel.CanMeet opts[]": func(e *env) []error { return one(e.model.CanMeet(time.Time{}, nil)) },
	"driver.PreparedModel.Execute ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.model.Execute(c, good())) })
	},
	"driver.PreparedModel.Execute r": func(e *env) []error {
		return each(requests, func(r *nn.Request) error { return second(e.model.Execute(e.ctx, r)) })
	},
	"driver.PreparedModel.Execute r.Pools[]": func(e *env) []error {
		return each(pools, func(p nn.Memory) error { return second(e.model.Execute(e.ctx, requestOn(p))) })
	},
	"driver.PreparedModel.Execute opts[]": func(e *env) []error { return one(second(e.model.Execute(e.ctx, good(), nil))) },
	"driver.PreparedModel.ExecuteAsync ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.model.ExecuteAsync(c, good()).Wait()) })
	},
	"driver.PreparedModel.ExecuteAsync r": func(e *env) []error {
		return each(requests, func(r *nn.Request) error { return second(e.model.ExecuteAsync(e.ctx, r).Wait()) })
	},
	"driver.PreparedModel.ExecuteAsync r.Pools[]": func(e *env) []error {
		return each(pools, func(p nn.Memory) error { return second(e.model.ExecuteAsync(e.ctx, requestOn(p)).Wait()) })
	},
	"driver.PreparedModel.ExecuteAsync opts[]": func(e *env) []error {
		return one(second(e.model.ExecuteAsync(e.ctx, good(), nil).Wait()))
	},
	"driver.PreparedModel.ExecuteFenced ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.model.ExecuteFenced(c, good(), nil)) })
	},
	"driver.PreparedModel.ExecuteFenced r": func(e *env) []error {
		return each(requests, func(r *nn.Request) error { return second(e.model.ExecuteFenced(e.ctx, r, nil)) })
	},
	"driver.PreparedModel.ExecuteFenced r.Pools[]": func(e *env) []error {
		return each(pools, func(p nn.Memory) error { return second(e.model.ExecuteFenced(e.ctx, requestOn(p), nil)) })
	},
	"driver.PreparedModel.ExecuteFenced waits[]": func(e *env) []error {
		return one(second(e.model.ExecuteFenced(e.ctx, good(), []*driver.Fence{nil})))
	},
	"driver.PreparedModel.ExecuteFenced opts[]": func(e *env) []error {
		return one(second(e.model.ExecuteFenced(e.ctx, good(), nil, nil)))
	},
	"driver.PreparedModel.Forecast opts[]": func(e *env) []error { return one(second(e.model.Forecast(nil))) },
	"driver.PreparedModel.NewExecution opts[]": func(e *env) []error {
		return one(second(e.model.NewExecution(good(), nil)))
	},
	"driver.PreparedModel.NewExecution r": func(e *env) []error {
		return each(requests, func(r *nn.Request) error { return second(e.model.NewExecution(r)) })
	},
	"driver.PreparedModel.NewExecution r.Pools[]": func(e *env) []error {
		return each(pools, func(p nn.Memory) error { return second(e.model.NewExecution(requestOn(p))) })
	},
	"driver.PreparedModel.Run ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.model.Run(c, values(2), values(1))) })
	},
	"driver.PreparedModel.Run opts[]": func(e *env) []error {
		return one(second(e.model.Run(e.ctx, values(2), values(1), nil)))
	},
	"driver.PreparedModel.RunFloats ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.named.RunFloats(c, floats)) })
	},
	"driver.PreparedModel.RunFloats inputs": func(e *env) []error { return one(second(e.named.RunFloats(e.ctx, nil))) },
	"driver.PreparedModel.RunFloats opts[]": func(e *env) []error {
		return one(second(e.named.RunFloats(e.ctx, floats, nil)))
	},
	"driver.PreparedModel.RunNamed ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.named.RunNamed(c, raw)) })
	},
	"driver.PreparedModel.RunNamed inputs": func(e *env) []error { return one(second(e.named.RunNamed(e.ctx, nil))) },
	"driver.PreparedModel.RunNamed opts[]": func(e *env) []error {
		return one(second(e.named.RunNamed(e.ctx, raw, nil)))
	},
	"driver.ReusableExecution.Run ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.reusable().Run(c)) })
	},
	"driver.ReusableExecution.Run opts[]": func(e *env) []error { return one(second(e.reusable().Run(e.ctx, nil))) },
	"driver.ReusableExecution.RunFenced ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.reusable().RunFenced(c, nil)) })
	},
	"driver.ReusableExecution.RunFenced waits[]": func(e *env) []error {
		return one(second(e.reusable().RunFenced(e.ctx, []*driver.Fence{nil})))
	},
	"driver.ReusableExecution.RunFenced opts[]": func(e *env) []error {
		return one(second(e.reusable().RunFenced(e.ctx, nil, nil)))
	},
	"driver.WritePrometheus w": func(e *env) []error {
		return append(one(driver.WritePrometheus(nil, e.device.Metrics())), driver.WritePrometheus((*noWriter)(nil), e.device.Metrics()))
	},

	"nn.Unsupported m": func(*env) []error { return one(nn.Unsupported(nil, []error{nil})) },
	"nn.Model.Value o": func(*env) []error { return one(second(sum().Value(nil))) },
	"nn.NotNil v": func(*env) []error {
		return []error{nn.NotNil("argument", nil), nn.NotNil("argument", (*nn.Model)(nil)), nn.NotNil("argument", (func())(nil))}
	},

	"memory.FromFile f": func(*env) []error {
		return each(files, func(f *os.File) error { return second(memory.FromFile(f, memory.ProtRead, 0, 16)) })
	},
	"memory.Open h.Files[]": func(*env) []error {
		return each(files, func(f *os.File) error {
			return second(memory.Open(memory.Handle{Kind: memory.Ashmem, Size: 16, Files: []*os.File{f}}))
		})
	},

	"cache.Duplicate files[]": func(*env) []error {
		return each(files, func(f *os.File) error { return second(cache.Duplicate([]*os.File{f})) })
	},
	"cache.HashMap.Load modelFiles[]": func(e *env) []error { return one(load(e.hashes, nil, e.file)) },
	"cache.HashMap.Load dataFiles[]":  func(e *env) []error { return one(load(e.hashes, e.file, nil)) },
	"cache.HashMap.Save modelFiles[]": func(e *env) []error { return one(save(e.hashes, nil, e.file)) },
	"cache.HashMap.Save dataFiles[]":  func(e *env) []error { return one(save(e.hashes, e.file, nil)) },
	"cache.Store.Load modelFiles[]":   func(e *env) []error { return one(load(e.store, nil, e.file)) },
	"cache.Store.Load dataFiles[]":    func(e *env) []error { return one(load(e.store, e.file, nil)) },
	"cache.Store.Save modelFiles[]":   func(e *env) []error { return one(save(e.store, nil, e.file)) },
	"cache.Store.Save dataFiles[]":    func(e *env) []error { return one(save(e.store, e.file, nil)) },
	"cache.Store.UpdateModel update":  func(e *env) []error { return one(e.store.UpdateModel(cache.Key{}, nil)) },

	"qos.Client.Admit j":    func(e *env) []error { return one(e.queue.Admit(nil)) },
	"qos.Client.CanMeet j":  func(e *env) []error { return one(e.queue.CanMeet(nil)) },
	"qos.Client.Forecast j": func(e *env) []error { return one(second(e.queue.Forecast(nil))) },
	"qos.Client.Run ctx": func(e *env) []error {
		return each(contexts, func(c context.Context) error { return second(e.queue.Run(c, &qos.Job{})) })
	},
	"qos.Client.Run j": func(e *env) []error { return one(second(e.queue.Run(e.ctx, nil))) },
	"qos.Client.Run j.Submit": func(e *env) []error {
		return one(second(e.queue.Run(e.ctx, jobWith(func(j *qos.Job) { j.Segments = estimate }))))
	},

	"gpu.Backend.Compile ctx": vulkan(func(b *gpu.Backend) []error {
		return each(contexts, func(c context.Context) error { return second(b.Compile(c, sum(), backend.Options{})) })
	}),
	"gpu.Backend.Compile m": vulkan(func(b *gpu.Backend) []error {
		return each(models, func(m *nn.Model) error { return second(b.Compile(context.Background(), m, backend.Options{})) })
	}),
	"qos.Scheduler.Idle ctx":       func(e *env) []error { return each(contexts, e.scheduler.Idle) },
	"qos.Scheduler.IdleButOne ctx": func(e *env) []error { return each(contexts, e.scheduler.IdleButOne) },
	"gpu.Backend.Compile m.Pools[]": vulkan(func(b *gpu.Backend) []error {
		return each(pools, func(p nn.Memory) error {
			return second(b.Compile(context.Background(), constantIn(p), backend.Options{}))
		})
	}),
	"gpu.Backend.CompileImage ctx": vulkan(func(b *gpu.Backend) []error {
		return each(contexts, func(c context.Context) error {
			return second(b.CompileImage(c, layout, &nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 1, 2, 4}}, backend.Options{}))
		})
	}),
	"gpu.Backend.CompileImage o": vulkan(func(b *gpu.Backend) []error {
		return one(second(b.CompileImage(context.Background(), layout, nil, backend.Options{})))
	}),
	"gpu.DescribeAs ctx": func(*env) []error {
		return each(contexts, func(c context.Context) error { return second(gpu.DescribeAs(c, nil, sum())) })
	},
	"gpu.DescribeAs m": func(*env) []error {
		return each(models, func(m *nn.Model) error { return second(gpu.DescribeAs(context.Background(), nil, m)) })
	},
	"gpu.DescribeAs m.Pools[]": func(*env) []error {
		return each(pools, func(p nn.Memory) error { return second(gpu.DescribeAs(context.Background(), nil, constantIn(p))) })
	},
	"gpu.Backend.Describe ctx": vulkan(func(b *gpu.Backend) []error {
		return each(contexts, func(c context.Context) error { return second(b.Describe(c, sum())) })
	}),
	"gpu.Backend.Describe m": vulkan(func(b *gpu.Backend) []error {
		return each(models, func(m *nn.Model) error { return second(b.Describe(context.Background(), m)) })
	}),
	"gpu.Backend.Describe m.Pools[]": vulkan(func(b *gpu.Backend) []error {
		return each(pools, func(p nn.Memory) error { return second(b.Describe(context.Background(), constantIn(p))) })
	}),
	"gpu.Backend.Gauge ctx": vulkan(func(b *gpu.Backend) []error {
		return each(contexts, func(c context.Context) error { return second(b.Gauge(c, gpu.CeilingF32)) })
	}),
	"gpu.Gauge.Rate ctx": vulkan(func(b *gpu.Backend) []error {
		g, err := b.Gauge(context.Background(), gpu.CeilingF32)
		if err != nil {
			return []error{nil} // that it was not refused is what counts here
		}
		defer g.Close()
		return each(contexts, func(c context.Context) error { return second(g.Rate(c)) })
	}),
	"gpu.Backend.Measure ctx": vulkan(func(b *gpu.Backend) []error {
		return each(contexts, func(c context.Context) error { return second(b.Measure(c)) })
	}),
	"gpu.Backend.Restore ctx": vulkan(func(b *gpu.Backend) []error {
		return each(contexts, func(c context.Context) error {
			return second(b.Restore(c, nil, strings.NewReader(""), backend.Options{}))
		})
	}),
	"gpu.Backend.Restore data": vulkan(func(b *gpu.Backend) []error {
		return each([]backend.Data{nil, (*noData)(nil)}, func(d backend.Data) error {
			return second(b.Restore(context.Background(), nil, d, backend.Options{}))
		})
	}),
	"gpu.Screen.Acquire ctx": func(*env) []error {
		return each(contexts, func(c context.Context) error { return second(new(gpu.Screen).Acquire(c)) })
	},
	"gpu.Screen.Show m": func(*env) []error { return []error{second(new(gpu.Screen).Show(nil, 1, 1))} },
	"gpu.Backend.Supports m": vulkan(func(b *gpu.Backend) []error {
		return each(models, func(m *nn.Model) error { return second(b.Supports(m)) })
	}),
	"gpu.Backend.Supports m.Pools[]": vulkan(func(b *gpu.Backend) []error {
		return each(pools, func(p nn.Memory) error { return second(b.Supports(constantIn(p))) })
	}),
}

// accepted has each place where nil means something, or where what is above has refused it.
var accepted = map[string]string{
	"driver.WritePrometheus devices[].Executions[].Ended":   "an empty map",
	"driver.WritePrometheus devices[].Executions[].Refused": "an empty map",
	"driver.WritePrometheus devices[].Prepared":             "an empty map",

	"nn.Errorf args[]":  "an argument of a message",
	"nn.Invalid args[]": "an argument of a message",

	"nn.Unsupported m.Main.Operands[].Channel":         backends,
	"nn.Unsupported m.Referenced[].Operands[].Channel": backends,
	"nn.Unsupported m.Pools[]":                         backends,
	"nn.Unsupported reasons[]":                         "an operation that is supported",
	"nn.Model.Value o.Channel":                         "not looked at",

	"cache.Open o.Warn":        "nobody wants to know",
	"cache.OpenHashMap o.Warn": "nobody wants to know",

	"gpu.Backend.Compile o.Pause":               "optional",
	"gpu.Backend.CompileImage opts.Pause":       "optional",
	"gpu.Backend.Restore o.Pause":               "optional",
	"gpu.Backend.Compile o.PauseWithin":         "optional",
	"gpu.Backend.CompileImage opts.PauseWithin": "never called",
	"gpu.Backend.Restore o.PauseWithin":         "optional",
	"qos.Client.Admit j.Begin":                  "optional",
	"qos.Client.Admit j.Group":                  "optional",
	"qos.Client.Admit j.Submit":                 "never called",
	"qos.Client.Admit j.More":                   "optional",
	"qos.Client.Admit j.Observe":                "optional",
	"qos.Client.CanMeet j.Begin":                "optional",
	"qos.Client.CanMeet j.Group":                "optional",
	"qos.Client.CanMeet j.Submit":               "never called",
	"qos.Client.CanMeet j.More":                 "optional",
	"qos.Client.CanMeet j.Observe":              "optional",
	"qos.Client.Run j.Begin":                    "optional",
	"qos.Client.Run j.Group":                    "optional",
	"qos.Client.Run j.More":                     "optional",
	"qos.Client.Run j.Observe":                  "optional",
	"qos.Client.Forecast j.Begin":               "optional",
	"qos.Client.Forecast j.Group":               "optional",
	"qos.Client.Forecast j.Submit":              "never called",
	"qos.Client.Forecast j.More":                "optional",
	"qos.Client.Forecast j.Observe":             "optional",

	"gpu.Backend.Compile m.Main.Operands[].Channel":          validated,
	"gpu.Backend.Compile m.Referenced[].Operands[].Channel":  validated,
	"gpu.Backend.CompileImage o.Channel":                     "images have one scale",
	"gpu.Backend.Describe m.Main.Operands[].Channel":         validated,
	"gpu.Backend.Describe m.Referenced[].Operands[].Channel": validated,
	"gpu.DescribeAs m.Main.Operands[].Channel":               validated,
	"gpu.DescribeAs m.Referenced[].Operands[].Channel":       validated,
	"gpu.Backend.Supports m.Main.Operands[].Channel":         validated,
	"gpu.Backend.Supports m.Referenced[].Operands[].Channel": validated,
}

const backends = "a helper of backends, which makes their error of a model that they have looked at"

const validated = "the precondition: the model passed validate.Model, which refuses it"
