// Package nntest helps tests: with models, and with what a machine may lack.
package nntest

import "github.com/nngpu/nngpu/driver/nn"

// Build returns the model of b, whose calls are right; a mistake in one panics.
func Build(b *nn.Builder) *nn.Model {
	m, err := b.Build()
	if err != nil {
		panic(err)
	}
	return m
}
