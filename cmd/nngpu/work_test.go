package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/internal/networks"
)

// TestUsefulWork: what was published of the networks, and what a transformer's sizes give.
func TestUsefulWork(t *testing.T) {
	const tokens, width, inner = 128, 512, 2048 // of the base encoder
	for _, tc := range []struct {
		name  string
		gflop float64
		tol   float64
	}{
		{"mobilenet_v1", 2 * 0.569, 0.01}, // table 4 of "MobileNets": 569 million
		{"mobilenet_v2", 2 * 0.300, 0.01}, // table 4 of "MobileNetV2": 300 million
		{"resnet50", 2 * 3.86, 0.08},      // table 1 of "Deep Residual Learning": 3.8e9, with strides in the first of three
		{"gemm:3,5,7", 2e-9 * 3 * 5 * 7, 0},
		{"transformer_block", 2e-9 * (4*tokens*width*width + 2*tokens*tokens*width + 2*tokens*width*inner), 1e-9},
	} {
		for _, typ := range networks.Types {
			if tc.name == "resnet50" && typ != networks.Float32 {
				continue // its weights take seconds
			}
			n, err := networks.Build(networks.Spec{Name: tc.name, Type: typ})
			require.NoError(t, err)
			gflop, _, err := usefulWork(n.Model)
			require.NoError(t, err)
			require.InEpsilon(t, tc.gflop, gflop, tc.tol+1e-9, "%s, %s", tc.name, typ)
		}
	}
}
