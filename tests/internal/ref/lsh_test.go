package ref

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFingerprint64: values that FarmHash's own tests publish, of every length that is hashed in a way of its own.
func TestFingerprint64(t *testing.T) {
	for s, want := range map[string]uint64{
		"":                                 0x9ae16a3b2f90404f,
		"a":                                0xb3454265b6df75e3,
		"abc":                              0x24a5b3a074e7f369,
		"abcd":                             0x1a5502de4a1f8101,
		"abcdefg":                          0x3c40c92b1ccb7355,
		"abcdefgh":                         0xfee9d22990c82909,
		"0123456789@0123":                  0x5361eae17c1ff6bc,
		"0123456789'01234":                 0x4283d4ef43627f64,
		"0123456789=012345":                0x46a7416ed4861e3b,
		"C is as portable as Stonehedge!!": 0xb944f8a16261e414,
		"Discard medicine more than two years old.":                                                                                            0xe8f89ab6df9bdd25,
		"The days of the digital watch are numbered.  -Tom Stoppard":                                                                           0x2a578b80bb82147c,
		"For every action there is an equal and opposite government program.":                                                                  0x55182f8859eca4ce,
		"It's a tiny change to the code and not completely disgusting. - Bob Manchek":                                                          0x38aa3175b37f305c,
		"The fugacity of a constituent in a mixture of gases at a given temperature is proportional to its mole fraction.  Lewis-Randall Rule": 0x98eff6958c5e91a,
	} {
		require.Equal(t, fmt.Sprintf("%x", want), fmt.Sprintf("%x", Fingerprint64([]byte(s))), s)
	}
}
