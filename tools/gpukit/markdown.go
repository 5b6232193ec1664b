package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// markdown is the report for people: how each step ended, and then what it reported.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n%s on %s, %s, %.0f s.\n\n", r.Part, r.What, r.Device, r.Host, r.At.Format("2006-01-02 15:04 UTC"), r.Seconds)
	b.WriteString("| step | ended | s |\n|---|---|--:|\n")
	for _, o := range r.Steps {
		fmt.Fprintf(&b, "| %s | %s | %.1f |\n", cell(o.Name), cell(o.Ended), o.Seconds)
	}
	for _, o := range r.Steps {
		if strings.HasPrefix(o.Ended, leftOut) {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n`%s`\n", o.Name, o.Command)
		if o.Result != nil {
			writeValue(&b, o.Result)
		}
		if o.Output != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.ReplaceAll(o.Output, "```", "'''"))
		}
	}
	return b.String()
}

// cell is text within a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}

// field is one of an object, in the order of the text.
type field struct {
	name  string
	value json.RawMessage
}

// fields are those of an object; false for other values.
func fields(raw json.RawMessage) (list []field, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, false
		}
		list = append(list, field{fmt.Sprint(name), value})
	}
	return list, true
}

// writeValue writes an object as lists of its fields, and lists of objects as tables.
func writeValue(b *strings.Builder, raw json.RawMessage) {
	list, ok := fields(raw)
	if !ok {
		fmt.Fprintf(b, "\n%s\n", inline(raw))
		return
	}
	b.WriteString("\n")
	var tables []field
	for _, f := range list {
		if rows := objects(f.value); rows != nil {
			tables = append(tables, f)
			continue
		}
		fmt.Fprintf(b, "- %s: %s\n", f.name, inline(f.value))
	}
	for _, t := range tables {
		writeTable(b, t.name, objects(t.value))
	}
}

// objects are the objects of a list that holds nothing else; nil for other values.
func objects(raw json.RawMessage) (rows [][]field) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	for _, item := range items {
		row, ok := fields(item)
		if !ok {
			return nil
		}
		rows = append(rows, row)
	}
	return rows
}

// Bounds of what is read by people; all of it is in the other file.
const (
	maxRows   = 40
	maxInline = 400
)

func writeTable(b *strings.Builder, name string, rows [][]field) {
	var columns []string
	at := map[string]int{}
	for _, row := range rows {
		for _, f := range row {
			if _, known := at[f.name]; !known {
				at[f.name] = len(columns)
				columns = append(columns, f.name)
			}
		}
	}
	fmt.Fprintf(b, "\n%s:\n\n| %s |\n|%s\n", name, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for i, row := range rows {
		if i == maxRows {
			fmt.Fprintf(b, "\n… and %d more\n", len(rows)-maxRows)
			return
		}
		cells := make([]string, len(columns))
		for _, f := range row {
			cells[at[f.name]] = cell(inline(f.value))
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

// inline is a value on a line: numbers with four digits, objects as their fields.
func inline(raw json.RawMessage) string {
	text := ""
	if list, ok := fields(raw); ok {
		var parts []string
		for _, f := range list {
			parts = append(parts, f.name+" "+inline(f.value))
		}
		text = strings.Join(parts, ", ")
	} else {
		text = scalar(raw)
	}
	if len(text) > maxInline {
		text = strings.ToValidUTF8(text[:maxInline], "") + "…"
	}
	return text
}

func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) == nil {
		var parts []string
		for _, item := range items {
			parts = append(parts, inline(item))
		}
		return strings.Join(parts, ", ")
	}
	text := string(raw)
	if strings.ContainsAny(text, ".eE") {
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(v, 'g', 4, 64)
		}
	}
	return text
}
