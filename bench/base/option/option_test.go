package option_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/option"
)

type request struct {
	Size   int64
	Count  int
	Seed   int
	Share  float64
	Time   float64
	On     bool
	Name   string
	Words  []string
	Groups []int
	Stage  *int
}

var rows = map[string]option.Row[request]{}

func init() {
	for _, r := range []option.Row[request]{
		{Letter: "b", Name: "size", Unit: "bytes", Default: "1K", Value: option.Bytes(func(r *request) *int64 { return &r.Size })},
		{Name: "count", Unit: "int", Value: option.Natural(func(r *request) *int { return &r.Count })},
		{Name: "seed", Unit: "int", Default: "1", Value: option.Whole(func(r *request) *int { return &r.Seed })},
		{Name: "share", Unit: "share", Value: option.Float(func(r *request) *float64 { return &r.Share })},
		{Name: "time", Unit: "ms", Value: option.Scaled(1, 1000, "ms", 1e-3, func(r *request) *float64 { return &r.Time })},
		{Name: "on", Value: option.Switch(func(r *request) *bool { return &r.On })},
		{Name: "name", Unit: "name", Value: option.OneOf([]string{"cold", "warm"}, func(r *request) *string { return &r.Name })},
		{Name: "words", Unit: "list", Value: option.Words("words", []string{"a", "b"}, func(r *request) *[]string { return &r.Words })},
		{Name: "groups", Unit: "list", Value: option.Numbers(func(r *request) *[]int { return &r.Groups })},
		{Name: "stage", Unit: "stage", Value: option.Of(func(r *request) **int { return &r.Stage }, func(v string) (*int, error) {
			n, err := option.ParseNatural(v)
			return &n, err
		}, func(n *int) string { return strconv.Itoa(*n) })},
	} {
		rows[r.Name] = r
	}
}

// What a flag reads it writes again. A flag without a default is left out at its zero value, one with a default never is.
func TestRowsWriteWhatTheyRead(t *testing.T) {
	for _, c := range []struct{ name, given, want, err string }{
		{"size", "2K", "-b 2048", ""},
		{"size", "0", "-b 0", ""},
		{"size", "x", "", "x"},
		{"count", "7", "--count 7", ""},
		{"count", "0", "", ""},
		{"count", "-1", "", "not a whole number from 0"},
		{"seed", "0", "--seed 0", ""},
		{"share", "0.25", "--share 0.25", ""},
		{"share", "-1", "", "not a number from 0"},
		{"share", "NaN", "", "not a number from 0"},
		{"time", "412.3", "--time 412.3", ""},
		{"time", "1001", "", "outside the plausible range of 1 to 1000 ms"},
		{"time", "Inf", "", "not a number above 0"},
		{"on", "true", "--on", ""},
		{"on", "false", "", ""},
		{"name", "warm", "--name warm", ""},
		{"name", "hot", "", `"hot" is not one of cold, warm`},
		{"words", "b, a,b", "--words b,a", ""},
		{"words", "a,", "", "words"},
		{"groups", "2,8,2", "--groups 2,8", ""},
		{"groups", "", "", "invalid syntax"},
		{"stage", "0", "--stage 0", ""},
	} {
		r, request := rows[c.name], &request{}
		err := r.Set(request, []string{c.given})
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%v", c)
			continue
		}
		require.NoError(t, err, "%v", c)
		var words []string
		for _, f := range r.Typed(request) {
			words = append(words, f...)
		}
		require.Equal(t, c.want, strings.Join(words, " "), "%v", c)
	}
	require.Equal(t, "false", rows["on"].Text(&request{}))
	require.Equal(t, "none", rows["words"].Text(&request{}))
	require.Equal(t, "0", rows["seed"].Text(&request{}))
}

// A flag that is no list takes the last value, a list takes all.
func TestSeveralValues(t *testing.T) {
	r := &request{}
	require.NoError(t, rows["count"].Set(r, []string{"1", "2"}))
	require.NoError(t, rows["groups"].Set(r, []string{"1", "2,3"}))
	require.Equal(t, request{Count: 2, Groups: []int{1, 2, 3}}, *r)
}

// A row of a part of a request fills the whole, and is left out by the same rule.
func TestWithin(t *testing.T) {
	type whole struct{ part request }
	for name, row := range rows {
		w := &whole{}
		r := option.Within(row, func(w *whole) *request { return &w.part })
		require.Equal(t, row.Shown(&w.part), r.Shown(w), name)
		require.Equal(t, fmt.Sprint(row.Name, row.Letter, row.Default), fmt.Sprint(r.Name, r.Letter, r.Default))
	}
	w := &whole{}
	r := option.Within(rows["count"], func(w *whole) *request { return &w.part })
	require.NoError(t, r.Set(w, []string{"3"}))
	require.Equal(t, [][]string{{"--count", "3"}}, r.Typed(w))
	left := option.Row[request]{Name: "count", Unit: "int", Value: option.Unless(func(r *request) bool { return r.On }, rows["count"].Value)}
	require.Empty(t, left.Typed(&request{Count: 3, On: true}))
	require.NotEmpty(t, left.Typed(&request{Count: 3}))
}
