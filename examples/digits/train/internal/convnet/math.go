package convnet

import "math"

func sqrt(x float64) float64 { return math.Sqrt(x) }

// dot is the inner product of a and b, of equal length. Four running sums keep the additions from waiting for one
// another.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// axpy adds k*x to y.
func axpy(k float32, x, y []float32) {
	y = y[:len(x)]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a, b := x[i:i+4:i+4], y[i:i+4:i+4]
		b[0] += k * a[0]
		b[1] += k * a[1]
		b[2] += k * a[2]
		b[3] += k * a[3]
	}
	for ; i < len(x); i++ {
		y[i] += k * x[i]
	}
}

// crossEntropy returns -log softmax(logits)[class] and writes its gradient over the logits.
func crossEntropy(logits []float32, class int, grad []float32) float64 {
	top := logits[Argmax(logits)]
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l - top))
	}
	for i, l := range logits {
		grad[i] = float32(math.Exp(float64(l-top)) / sum)
	}
	grad[class]--
	return math.Log(sum) - float64(logits[class]-top)
}
