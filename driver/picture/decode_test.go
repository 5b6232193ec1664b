package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// jpegOf is the file of a small picture, whose frame header is changed to that of another size, progressive or not.
func jpegOf(t *testing.T, m image.Image, side uint16, sof byte) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, nil))
	data := b.Bytes()
	at := bytes.Index(data, []byte{0xff, 0xc0, 0x00})
	require.Positive(t, at)
	data[at+1] = sof
	binary.BigEndian.PutUint16(data[at+5:], side)
	binary.BigEndian.PutUint16(data[at+7:], side)
	return data
}

// pngHeader is the beginning of a file.
func pngHeader(side uint32, depth, kind, interlaced byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), side)
	head = append(binary.BigEndian.AppendUint32(head, side), depth, kind, 0, 0, interlaced)
	data := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(head))
}

// TestDecodedBytes has files that say in a few bytes how large they are.
func TestDecodedBytes(t *testing.T) {
	gray, colours := image.NewGray(image.Rect(0, 0, 8, 8)), one(color.White)
	const sof0, sof2 = 0xc0, 0xc2
	padded := jpegOf(t, colours, 8192, sof2)
	padded = append([]byte{0xff, 0xd8, 0x00, 0xff, 0x00, 0xff, 0xd0, 0xff}, padded[2:]...)
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"baseline":                     {jpegOf(t, colours, 8192, sof0), "damaged"},
		"progressive":                  {jpegOf(t, colours, 8192, sof2), "to decode"},
		"progressive, behind stuffing": {padded, "to decode"},
		"smaller":                      {jpegOf(t, colours, 5000, sof2), "damaged"},
		"gray, progressive":            {jpegOf(t, gray, 8192, sof2), "to decode"},
		"gray, smaller":                {jpegOf(t, gray, 7000, sof2), "damaged"},
		"png":                          {pngHeader(8192, 8, 6, 0), "damaged"},
		"png of 16 bits":               {pngHeader(8192, 16, 6, 0), "damaged"},
		"interlaced":                   {pngHeader(8192, 16, 6, 1), "to decode"},
		"too many":                     {pngHeader(8193, 8, 0, 0), "at most 67108864 are read"},
	} {
		_, err := Decode(tc.data, Limits{})
		require.ErrorContains(t, err, tc.want, name)
	}
}

// TestPictureThatIsAStrip: a file of a few kilobytes.
func TestPictureThatIsAStrip(t *testing.T) {
	data := encodePNG(t, image.NewGray(image.Rect(0, 0, 1, 4_000_000)))
	require.Less(t, len(data), 20_000)
	o := &nn.Operand{Type: nn.TensorQuant8Asymm, Scale: 1, Dims: nn.Dims{1, 224, 224, 3}}
	require.Equal(t, make([]byte, 224*224*3), bytesOf(t, data, o, Normalisation{}))
}
