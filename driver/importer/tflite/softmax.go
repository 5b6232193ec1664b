package tflite

import "github.com/nngpu/nngpu/driver/nn"

// softmax runs over the last dimension in both worlds.
func softmax(c *call) error { return c.finish(nn.OpSoftmax, c.data(0), c.options.float32(0)) }

// logSoftmax has no beta in TensorFlow Lite and runs over the last dimension.
func logSoftmax(c *call) error { return c.finish(nn.OpLogSoftmax, c.data(0), float32(1), int32(-1)) }
