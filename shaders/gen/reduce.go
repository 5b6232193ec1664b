package main

import (
	"fmt"
	"strings"

	"github.com/nngpu/nngpu/shaders/family"
)

// reduceVariants: the kernels of reduce/.
func reduceVariants() []variant {
	var list []variant
	softmax := func(k family.Softmax, source, macro, value string) {
		v := variant{
			key: k, source: "reduce/" + source, defines: map[string]string{elemMacro(k.Elem): "1"},
		}
		if k.Log {
			v.defines["LOG"] = "1"
		}
		if macro != "" {
			v.defines[macro] = value
		}
		list = append(list, v)
	}
	for _, elem := range []family.Elem{family.F32, family.F16} {
		for _, log := range bools {
			softmax(family.Softmax{Log: log, Elem: elem}, "softmax_row.comp", "UNROLL", "1u")
			softmax(family.Softmax{Log: log, Elem: elem, Long: true}, "softmax_row.comp", "UNROLL", "4u")
			softmax(family.Softmax{Log: log, Elem: elem, Column: true}, "softmax_column.comp", "", "")
		}
		for _, column := range bools {
			v := variant{
				key: family.LocalResponse{Column: column, Elem: elem}, source: "reduce/lrn.comp", defines: map[string]string{elemMacro(elem): "1"},
			}
			if column {
				v.defines["COLUMN"] = "1"
			}
			list = append(list, v)
		}
	}
	list = append(list,
		variant{key: family.Softmax{Elem: family.Q8}, source: "reduce/softmax_q8.comp"},
		variant{
			key: family.Softmax{Elem: family.Q8, Column: true}, source: "reduce/softmax_q8.comp",
			defines: map[string]string{"COLUMN": "1"},
		})
	for _, t := range [][2]family.Elem{
		{family.F32, family.F32}, {family.F16, family.F32}, {family.F32, family.F16}, {family.F16, family.F16},
		{family.Q8, family.I32}, {family.I32, family.I32}, {family.I32, family.Q8}, {family.Q8, family.Q8},
	} {
		list = append(list,
			variant{key: family.Sum{Column: true, From: t[0], To: t[1]}, source: "reduce/sum_column.comp", defines: between(t[0], t[1])},
			variant{key: family.Sum{From: t[0], To: t[1]}, source: "reduce/sum_row.comp", defines: between(t[0], t[1])})
	}
	list = append(list, teamVariants()...)
	list = append(list, foldVariants()...)
	for _, elem := range computed {
		list = append(list, variant{
			key: family.MeanRuntime{Elem: elem}, source: "reduce/mean_fed.comp",
			defines: between(elem, elem),
		})
	}
	list = append(list, variant{name: "topk_merge", source: "reduce/topk.comp", defines: map[string]string{"MERGE": "1"}})
	for _, elem := range stored {
		list = append(list, variant{
			key: family.TopKSort{Elem: elem}, source: "reduce/topk.comp", defines: map[string]string{"SORT": "1", elemMacro(elem): "1"},
		})
	}
	for _, bytes := range []int{1, 2, 4} {
		list = append(list, variant{
			key: family.TopKTake{Bytes: bytes}, source: "reduce/topk.comp", defines: map[string]string{"TAKE": "1", "ELEM": fmt.Sprint(bytes)},
		})
	}
	return list
}

// teamVariants: rows that several invocations go through together.
func teamVariants() []variant {
	var list []variant
	add := func(team family.Team, key family.Key, source string, defines map[string]string) {
		subgroups := map[family.Team]uint32{family.Subgroup: family.TeamRows, family.Workgroup: family.TeamSubgroups}[team]
		defines["WORKGROUP"], defines["TEAMS"] = digit(team == family.Workgroup), fmt.Sprint(family.TeamRows)
		list = append(list, variant{key: key, source: source, defines: defines, subgroups: subgroups})
	}
	for _, team := range []family.Team{family.Subgroup, family.Workgroup} {
		for _, elem := range []family.Elem{family.F32, family.F16} {
			for _, log := range bools {
				defines := map[string]string{elemMacro(elem): "1"}
				if log {
					defines["LOG"] = "1"
				}
				add(team, family.Softmax{Log: log, Elem: elem, Team: team}, "reduce/softmax_team.comp", defines)
			}
		}
		add(team, family.Softmax{Elem: family.Q8, Team: team}, "reduce/softmax_q8_team.comp", map[string]string{})
		for _, t := range [][2]family.Elem{{family.F32, family.F32}, {family.F32, family.F16}, {family.F16, family.F16}} {
			add(team, family.Sum{From: t[0], To: t[1], Team: team}, "reduce/sum_team.comp", between(t[0], t[1]))
		}
	}
	return list
}

// between are the macros of element types of a kernel that reads and writes different ones.
func between(from, to family.Elem) map[string]string {
	return map[string]string{"FROM_" + strings.ToUpper(string(from)): "1", "TO_" + strings.ToUpper(string(to)): "1"}
}

// foldVariants: the largest and the smallest keep their type, products of float16 are float32 between stages.
func foldVariants() []variant {
	type types = [2]family.Elem
	extremes := []types{{family.F32, family.F32}, {family.F16, family.F16}, {family.Q8, family.Q8}}
	places := []types{{family.Keyed, family.Keyed}, {family.Keyed, family.I32}}
	for _, from := range stored {
		places = append(places, types{from, family.Keyed}, types{from, family.I32})
	}
	var list []variant
	for _, fold := range []struct {
		op    family.FoldOp
		types []types
	}{
		{family.FoldMax, extremes},
		{family.FoldMin, extremes},
		{family.FoldProd, []types{{family.F32, family.F32}, {family.F16, family.F32}, {family.F32, family.F16}, {family.F16, family.F16}}},
		{family.FoldPlace, places},
	} {
		for _, t := range fold.types {
			for _, column := range bools {
				v := variant{key: family.Fold{Op: fold.op, Column: column, From: t[0], To: t[1]}, source: "reduce/fold.comp", defines: between(t[0], t[1])}
				v.defines["FOLD_"+strings.ToUpper(string(fold.op))] = "1"
				if column {
					v.defines["COLUMN"] = "1"
				}
				list = append(list, v)
			}
		}
	}
	return list
}
