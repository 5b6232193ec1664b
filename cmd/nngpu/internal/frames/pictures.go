package frames

import (
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/driver/picture"
	"github.com/nngpu/nngpu/internal/regular"
)

// maxSide bounds the pictures of files, which are scaled down to it: networks and windows are smaller.
const maxSide = 640

// pictures are files, the first of which gives the size.
type pictures struct {
	paths         []string
	at            int
	width, height int
	first         *image.RGBA // the first picture, kept because it was read to know the size
}

// extensions are those of the files that are taken from folders.
var extensions = []string{".png", ".jpg", ".jpeg", ".bmp"}

func (s *Source) openFolder() error {
	list, err := os.ReadDir(s.name) // sorted
	if err != nil {
		return err
	}
	var paths []string
	for _, e := range list {
		if slices.Contains(extensions, strings.ToLower(filepath.Ext(e.Name()))) {
			paths = append(paths, filepath.Join(s.name, e.Name()))
		}
	}
	if len(paths) == 0 {
		return fmt.Errorf("no pictures in this folder (%s)", strings.Join(extensions, " "))
	}
	return s.openPictures(paths)
}

func (s *Source) openPictures(paths []string) error {
	p, err := readPicture(paths[0])
	if err != nil {
		return err
	}
	size := p.Bounds().Size()
	if longest := max(size.X, size.Y); longest > maxSide {
		size = image.Pt(max(1, size.X*maxSide/longest), max(1, size.Y*maxSide/longest))
	}
	s.Width, s.Height = size.X, size.Y
	s.maker = &pictures{paths: paths, width: size.X, height: size.Y, first: picture.Resize(p, size.X, size.Y)}
	return nil
}

func (p *pictures) next(dst []byte) error {
	if p.at == len(p.paths) {
		return io.EOF
	}
	p.at++
	if p.at == 1 {
		copy(dst, p.first.Pix)
		return nil
	}
	path := p.paths[p.at-1]
	m, err := readPicture(path)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	copy(dst, picture.Resize(m, p.width, p.height).Pix)
	return nil
}

func (p *pictures) rewind() error { p.at = 0; return nil }

func (p *pictures) close() error { return nil }

// readPicture decodes a file.
func readPicture(path string) (image.Image, error) {
	f, size, err := regular.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	m, err := picture.Read(f, size, picture.Limits{})
	if errors.Is(err, image.ErrFormat) {
		return nil, errors.New("neither a picture (PNG, JPEG, BMP) nor a .y4m video")
	}
	return m, err
}

// plain is an error of the file system without the path.
func plain(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
