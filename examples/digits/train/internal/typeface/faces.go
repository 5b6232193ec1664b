// Package typeface draws distorted pictures of digits from outline fonts.
//
// Pictures are dark digits on light paper, one byte a pixel, 255 white: ink on paper as a scanner gives it. (MNIST
// is the reverse.) Whole typefaces, with all their weights and slants, are either for training or held back for
// testing; no style of a held-back typeface is ever trained on.
package typeface

import (
	"fmt"

	"github.com/go-fonts/dejavu/dejavusans"
	"github.com/go-fonts/dejavu/dejavusansbold"
	"github.com/go-fonts/dejavu/dejavusansboldoblique"
	"github.com/go-fonts/dejavu/dejavusanscondensed"
	"github.com/go-fonts/dejavu/dejavusanscondensedbold"
	"github.com/go-fonts/dejavu/dejavusansextralight"
	"github.com/go-fonts/dejavu/dejavusansmono"
	"github.com/go-fonts/dejavu/dejavusansmonobold"
	"github.com/go-fonts/dejavu/dejavusansmonooblique"
	"github.com/go-fonts/dejavu/dejavusansoblique"
	"github.com/go-fonts/dejavu/dejavuserif"
	"github.com/go-fonts/dejavu/dejavuserifbold"
	"github.com/go-fonts/dejavu/dejavuserifcondensed"
	"github.com/go-fonts/dejavu/dejavuserifitalic"
	"github.com/go-fonts/latin-modern/lmmono10italic"
	"github.com/go-fonts/latin-modern/lmmono10regular"
	"github.com/go-fonts/latin-modern/lmmonolt10bold"
	"github.com/go-fonts/latin-modern/lmmonoltcond10regular"
	"github.com/go-fonts/latin-modern/lmroman10bold"
	"github.com/go-fonts/latin-modern/lmroman10italic"
	"github.com/go-fonts/latin-modern/lmroman10regular"
	"github.com/go-fonts/latin-modern/lmroman5regular"
	"github.com/go-fonts/latin-modern/lmromanslant10bold"
	"github.com/go-fonts/latin-modern/lmsans10bold"
	"github.com/go-fonts/latin-modern/lmsans10oblique"
	"github.com/go-fonts/latin-modern/lmsans10regular"
	"github.com/go-fonts/latin-modern/lmsans17regular"
	"github.com/go-fonts/latin-modern/lmsansdemicond10regular"
	"github.com/go-fonts/liberation/liberationmonobold"
	"github.com/go-fonts/liberation/liberationmonoitalic"
	"github.com/go-fonts/liberation/liberationmonoregular"
	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansbolditalic"
	"github.com/go-fonts/liberation/liberationsansitalic"
	"github.com/go-fonts/liberation/liberationsansregular"
	"github.com/go-fonts/liberation/liberationserifbold"
	"github.com/go-fonts/liberation/liberationserifbolditalic"
	"github.com/go-fonts/liberation/liberationserifitalic"
	"github.com/go-fonts/liberation/liberationserifregular"
	"github.com/go-fonts/stix/stix2textbold"
	"github.com/go-fonts/stix/stix2textbolditalic"
	"github.com/go-fonts/stix/stix2textitalic"
	"github.com/go-fonts/stix/stix2textregular"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gobolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/gofont/goregular"
)

// family is a typeface with its styles as font files.
type family struct {
	name   string
	styles [][]byte
}

// Balance matters more than number: a sample picks a family first, then one of its styles.
var trainFamilies = []family{
	{"DejaVu Sans", [][]byte{
		dejavusans.TTF, dejavusansbold.TTF, dejavusansoblique.TTF, dejavusansboldoblique.TTF,
		dejavusanscondensed.TTF, dejavusanscondensedbold.TTF, dejavusansextralight.TTF,
	}},
	{"DejaVu Sans Mono", [][]byte{dejavusansmono.TTF, dejavusansmonobold.TTF, dejavusansmonooblique.TTF}},
	{"DejaVu Serif", [][]byte{dejavuserif.TTF, dejavuserifbold.TTF, dejavuserifitalic.TTF, dejavuserifcondensed.TTF}},
	{"Go", [][]byte{goregular.TTF, gobold.TTF, goitalic.TTF, gobolditalic.TTF, gomedium.TTF}},
	{"Latin Modern Mono", [][]byte{lmmono10regular.TTF, lmmono10italic.TTF, lmmonolt10bold.TTF, lmmonoltcond10regular.TTF}},
	{"Latin Modern Roman", [][]byte{
		lmroman10regular.TTF, lmroman10bold.TTF, lmroman10italic.TTF, lmroman5regular.TTF, lmromanslant10bold.TTF,
	}},
	{"Liberation Mono", [][]byte{liberationmonoregular.TTF, liberationmonobold.TTF, liberationmonoitalic.TTF}},
	{"Liberation Serif", [][]byte{
		liberationserifregular.TTF, liberationserifbold.TTF, liberationserifitalic.TTF, liberationserifbolditalic.TTF,
	}},
}

var testFamilies = []family{
	{"Go Mono", [][]byte{gomono.TTF, gomonobold.TTF, gomonoitalic.TTF}},
	{"Latin Modern Sans", [][]byte{
		lmsans10regular.TTF, lmsans10bold.TTF, lmsans10oblique.TTF, lmsans17regular.TTF, lmsansdemicond10regular.TTF,
	}},
	{"Liberation Sans", [][]byte{
		liberationsansregular.TTF, liberationsansbold.TTF, liberationsansitalic.TTF, liberationsansbolditalic.TTF,
	}},
	{"STIX Two Text", [][]byte{stix2textregular.TTF, stix2textbold.TTF, stix2textitalic.TTF, stix2textbolditalic.TTF}},
}

// Family is a typeface: the outlines of ten digits in each of its styles.
type Family struct {
	Name   string
	Styles [][10]Outline
}

// TrainFamilies returns the typefaces to train on.
func TrainFamilies() ([]Family, error) { return load(trainFamilies) }

// TestFamilies returns the typefaces held back for testing.
func TestFamilies() ([]Family, error) { return load(testFamilies) }

func load(list []family) ([]Family, error) {
	families := make([]Family, len(list))
	for i, f := range list {
		families[i].Name = f.name
		for j, file := range f.styles {
			digits, err := digitOutlines(file)
			if err != nil {
				return nil, fmt.Errorf("typeface %s, style %d: %w", f.name, j, err)
			}
			families[i].Styles = append(families[i].Styles, digits)
		}
	}
	return families, nil
}
