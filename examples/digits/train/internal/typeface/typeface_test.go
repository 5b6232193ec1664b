package typeface

import (
	"image"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func families(t *testing.T) (train, test []Family) {
	t.Helper()
	train, err := TrainFamilies()
	require.NoError(t, err)
	test, err = TestFamilies()
	require.NoError(t, err)
	return train, test
}

func TestNoTypefaceIsInBothSets(t *testing.T) {
	seen := map[string]bool{}
	files := map[*byte]bool{}
	for _, list := range [][]family{trainFamilies, testFamilies} {
		for _, f := range list {
			require.False(t, seen[f.name], f.name)
			seen[f.name] = true
			for _, file := range f.styles {
				require.False(t, files[&file[0]], "a style of %s is listed twice", f.name)
				files[&file[0]] = true
			}
		}
	}
}

// TestPlainDigits checks what makes a drawing a digit's: dark on light, as high as asked, in the middle.
func TestPlainDigits(t *testing.T) {
	train, test := families(t)
	const edge = 40
	for _, f := range append(train, test...) {
		for i, style := range f.Styles {
			for digit, o := range style {
				img := Draw(o, Plain(), edge, nil)
				require.Equal(t, uint8(255), img.GrayAt(0, 0).Y, "%s %d %d", f.Name, i, digit)
				box := inkBox(img)
				require.InDelta(t, 0.75*edge, box.Dy(), 3, "%s %d %d", f.Name, i, digit)
				require.InDelta(t, edge/2, float64(box.Min.X+box.Max.X)/2, 2, "%s %d %d", f.Name, i, digit)
				require.InDelta(t, edge/2, float64(box.Min.Y+box.Max.Y)/2, 2, "%s %d %d", f.Name, i, digit)
				require.Less(t, box.Dx(), box.Dy()+2, "%s %d %d", f.Name, i, digit)
			}
		}
	}
}

func inkBox(img *image.Gray) image.Rectangle {
	box := image.Rectangle{}
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			if img.GrayAt(x, y).Y < 200 {
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return box
}

func TestOversamplingKeepsThePicture(t *testing.T) {
	train, _ := families(t)
	o := train[0].Styles[0][8]
	plain := Draw(o, Plain(), Edge, nil)
	for _, factor := range []int{2, 3, 4} {
		d := Plain()
		d.Oversampling = factor
		img := Draw(o, d, Edge, nil)
		sum, far := 0, 0
		for i := range img.Pix {
			diff := int(img.Pix[i]) - int(plain.Pix[i])
			sum += diff
			far = max(far, diff, -diff)
		}
		require.Less(t, max(sum, -sum)/len(img.Pix), 4, "factor %d", factor)
		require.LessOrEqual(t, far, 200, "factor %d", factor)
	}
}

func TestBlurKeepsInk(t *testing.T) {
	const edge = 21
	pix := make([]float32, edge*edge)
	pix[10*edge+10] = 1
	blur(pix, edge, 1.3)
	sum := float32(0)
	for _, v := range pix {
		sum += v
	}
	require.InDelta(t, 1, sum, 1e-4)
	require.InDelta(t, pix[10*edge+9], pix[10*edge+11], 1e-6)
	require.InDelta(t, pix[9*edge+10], pix[10*edge+9], 1e-6)
	require.Less(t, pix[10*edge+10], float32(0.2))
}

func TestSampleDependsOnlyOnItsNumber(t *testing.T) {
	train, _ := families(t)
	a, b := Sample(train, 7, 99), Sample(train, 7, 99)
	require.Equal(t, a, b)
	require.NotEqual(t, a.Pix, Sample(train, 7, 100).Pix)
	require.NotEqual(t, a.Pix, Sample(train, 8, 99).Pix)
	require.Len(t, a.Pix, Edge*Edge)
	digits := map[int]int{}
	for i := range uint64(500) {
		digits[Sample(train, 1, i).Digit]++
	}
	require.Len(t, digits, 10)
}

func TestRandomDistortionStaysReadable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		d := RandomDistortion(rng)
		require.Greater(t, d.Paper-d.Ink, 50.0)
		require.Less(t, d.Height, 1.0)
		require.InDelta(t, 0, d.Shift.X, 0.5)
	}
}
