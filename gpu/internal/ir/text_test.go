package ir

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextRoundTrip(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"float", `
input %0 TENSOR_FLOAT32 [1,4]
const %1 TENSOR_FLOAT32 [2,4] zeroes
const %2 TENSOR_FLOAT32 [2] AACAPwAAAEA=
%3 TENSOR_FLOAT32 [1,2] = FULLY_CONNECTED %0 %1 %2 {"act":1}
output %3
`}, {"quantised and relaxed", `
relaxed
input %0 TENSOR_QUANT8_ASYMM(0.5,128) [1,3,3,5]
input _
%1 TENSOR_QUANT8_ASYMM(0.5,128) [1,5,3,3] = TRANSPOSE %0 {"perm":[0,3,1,2]}
%2 TENSOR_QUANT8_ASYMM(0.5,128) [1,5,3,3] = RELU %1
output %2
output %1
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := Parse(tc.text)
			require.NoError(t, err)
			require.Equal(t, strings.TrimLeft(tc.text, "\n"), g.String())
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"undefined", "output %3", "not defined"},
		{"unknown operation", "input %0 TENSOR_FLOAT32 [1]\n%1 TENSOR_FLOAT32 [1] = NOPE %0", "unknown operation"},
		{"unknown type", "input %0 FLOAT99 [1]", "unknown operand type"},
		{"defined twice", "input %0 TENSOR_FLOAT32 [1]\ninput %0 TENSOR_FLOAT32 [1]", "twice"},
		{"zero dimension", "input %0 TENSOR_FLOAT32 [0]", "shape"},
		{"constant of wrong size", "const %0 TENSOR_FLOAT32 [2] AACAPw==", "bytes"},
		{"no statement", "hello", "no statement"},
		{"no operation", "%1 TENSOR_FLOAT32 [1] =  ", "no statement"},
		{"parameters only", `%1 TENSOR_FLOAT32 [1] =  {"act":1}`, "no operation"},
		{"parameters that are none", "input %0 TENSOR_FLOAT32 [1]\n%1 TENSOR_FLOAT32 [1] = RELU %0 {1}", "invalid character"},
		{"no shape", "input %0 TENSOR_FLOAT32", "no tensor"},
		{"shape of words", "input %0 TENSOR_FLOAT32 [a]", "invalid character"},
		{"scale of letters", "input %0 TENSOR_QUANT8_ASYMM(x,1) [1]", "invalid syntax"},
		{"zero point too large", "input %0 TENSOR_QUANT8_ASYMM(1,4294967296) [1]", "out of range"},
		{"zeroes without end", "const %0 TENSOR_FLOAT32 [1000000,1000000,1000000,1000000] zeroes", "shape"},
		{"zeroes of an open shape", "const %0 TENSOR_FLOAT32 [-1] zeroes", "shape"},
		{"value that is no base64", "const %0 TENSOR_FLOAT32 [1] ????", "illegal base64"},
		{"operand not defined", "%1 TENSOR_FLOAT32 [1] = RELU %0", "not defined"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse(tc.text)
			require.ErrorContains(t, err, tc.want)
		})
	}
}
