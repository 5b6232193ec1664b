package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/progress"
	"github.com/nngpu/nngpu/gpu"
)

// infoMeasured is what is on record about a device's speed; its field names are an interface. Rates are 0 where they
// are not known, or the device cannot do it.
type infoMeasured struct {
	// Ceilings, by kernels that do nothing else.
	FMAF32 float64 `json:"fma_f32_gflops"`
	FMAF16 float64 `json:"fma_f16_gflops"`
	Dot    float64 `json:"dot_int8_gops"`
	// By cooperative matrices.
	MatrixF16  float64 `json:"matrix_f16_gflops"`
	MatrixInt8 float64 `json:"matrix_int8_gops"`

	Cache  float64 `json:"cache_gbps"`
	Memory float64 `json:"memory_gbps"`
	Copy   float64 `json:"copy_gbps"`
	// What the kernels of networks reach.
	Matrix      float64 `json:"matrix_gflops"`
	Depthwise   float64 `json:"depthwise_gflops"`
	Elementwise float64 `json:"elementwise_gbps"`

	Submit    float64 `json:"submit_us"`
	Dispatch  float64 `json:"dispatch_us"`
	Barrier   float64 `json:"barrier_us"`
	Timestamp float64 `json:"timestamp_us"`
	// Load is the share of the processors that others used meanwhile, and Busy says that it was too much to rely on the
	// rates.
	Load float64 `json:"load"`
	Busy bool    `json:"busy"`
	// Drift is by how much the machine's speed changed meanwhile, and Unsteady says that another measurement may differ
	// as much.
	Drift    float64   `json:"drift"`
	Unsteady bool      `json:"unsteady"`
	At       time.Time `json:"at"`
}

func describeMeasured(m *gpu.Measurement) *infoMeasured {
	if m == nil {
		return nil
	}
	giga := func(x float64) float64 { return round3(x / 1e9) }
	micro := func(d time.Duration) float64 { return round3(float64(d) / 1e3) }
	return &infoMeasured{
		giga(m.FMA32), giga(m.FMA16), giga(m.Dot8), giga(m.MatrixF16), giga(m.MatrixInt8), giga(m.Cache), giga(m.Memory), giga(m.CopyMemory),
		giga(m.Matrix), giga(m.Depthwise), giga(m.Elementwise),
		micro(m.Submit), micro(m.Dispatch), micro(m.Barrier), micro(m.Timestamp),
		round3(max(m.Load, m.CeilingLoad)), m.Busy(), round3(m.Drift), m.Unsteady(), m.At,
	}
}

func round3(x float64) float64 { return math.Round(x*1e3) / 1e3 }

// measureChosen measures the device that --device means.
func (a *app) measureChosen(ctx context.Context) error {
	dev, err := a.openDevice()
	if err != nil {
		return err
	}
	bar := a.progress(progress.None, "measure")
	_, err = dev.Vulkan.Measure(ctx)
	bar.Finish()
	return errors.Join(err, dev.Close())
}

func (a *app) printMeasured(m *infoMeasured) {
	if m == nil {
		return
	}
	if m.FMAF32 > 0 {
		a.printf("     at most  %s GFLOP/s f32, %s f16, %s GOP/s int8; %s GB/s in a cache, %s in memory, %s by copies\n",
			console.Rate(m.FMAF32), console.Rate(m.FMAF16), console.Rate(m.Dot), console.Rate(m.Cache), console.Rate(m.Memory), console.Rate(m.Copy))
		if m.MatrixF16 > 0 || m.MatrixInt8 > 0 {
			a.printf("              by matrices %s GFLOP/s f16, %s GOP/s int8\n", console.Rate(m.MatrixF16), console.Rate(m.MatrixInt8))
		}
	}
	a.printf("     reached  %s GFLOP/s in matrix products, %s depthwise; %s GB/s by sums of tensors\n",
		console.Rate(m.Matrix), console.Rate(m.Depthwise), console.Rate(m.Elementwise))
	a.printf("     costs    submission %.1f µs, dispatch %.1f, barrier %.1f, timestamp %.1f\n", m.Submit, m.Dispatch, m.Barrier, m.Timestamp)
	busy := ""
	if m.Busy {
		busy = "; on a busy machine: --measure on an idle one tells more"
	} else if m.Unsteady {
		busy = fmt.Sprintf("; the machine's speed changed by %.0f %% meanwhile: another measurement may differ as much", 100*m.Drift)
	}
	a.printf("     measured %s, others used %.0f %% of the processors%s\n", m.At.Local().Format("2006-01-02 15:04"), 100*m.Load, busy)
}
