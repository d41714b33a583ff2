package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"zbench/bench/advice"
	"zbench/bench/cost"
	"zbench/bench/model"
	"zbench/bench/recommend"
	"zbench/bench/record"
	"zbench/bench/trainer"
)

// resamples is the number of curves that say how sure an answer is.
const resamples = 200

// adviceFile is the recommendation in a folder.
const adviceFile = "recommend.json"

// query is a recommendation ready to be asked: everything but the curves.
type query struct {
	in advice.Input
	o  adviceOptions
}

// prepareAdvice reads every file and checks every flag before anything is
// measured. It is nil where no recommendation was asked for.
func prepareAdvice(s State, o adviceOptions) (*query, error) {
	const help = "zbench recommend --help lists what a bucket size takes"
	if err := o.check(); err != nil {
		return nil, usage(err, help)
	}
	if !o.asked() {
		return nil, nil
	}
	q := &query{o: o, in: advice.Input{
		Framework: o.framework, MemBudget: o.memBudget, Rescale: o.rescale, Bootstrap: resamples, Seed: 1, Asked: o.line(),
	}}
	if err := q.readConfig(s); err != nil {
		return nil, err
	}
	t, err := trainer.ByName(q.in.Framework)
	if err != nil {
		return nil, usage(err, help)
	}
	if q.in.Model, err = q.o.model(s); err != nil {
		return nil, err
	}
	q.setRun(t)
	if o.memBudget > 0 && t.Memory == nil {
		return nil, usagef("leave it out", "--mem-budget: the bucket size of %s takes no memory, its buckets lie in the gradients' own", t.Title)
	}
	if q.in.Compute, err = q.compute(); err != nil {
		return nil, usage(err, help)
	}
	check := q.in.Run
	check.DP = max(1, check.DP)
	if check.DP == 1 {
		check.EP, check.Instances = 0, 0 // not known yet; Give checks again
	}
	if err := t.Check(check); err != nil {
		return nil, usage(err, q.whence(help))
	}
	return q, nil
}

// model is what the flags say of the parameters; nil where they say nothing.
func (o *adviceOptions) model(s State) (m *model.Model, err error) {
	switch {
	case o.preset != "":
		m, err = model.Preset(o.preset)
		if err == nil {
			err = m.Local(o.run.EP)
		}
	case o.total > 0:
		m, err = model.Synthetic(o.total, o.layers, o.largest)
	case o.params != "":
		m, err = o.readParams(s)
	default:
		return nil, nil
	}
	if err == nil && o.params == "" {
		err = m.Stage(o.pp)
	}
	if err != nil {
		return nil, usage(err, "zbench recommend --help says how parameters are given")
	}
	if o.params != "" {
		m.AsGiven(o.pp)
	}
	if o.active > 0 {
		m.SetActive(o.active)
	}
	return m, nil
}

func (o *adviceOptions) readParams(s State) (*model.Model, error) {
	f, err := s.FS.Open(o.params)
	if err != nil {
		return nil, notThere(err, o.params, "give a CSV, a JSON or a safetensors file")
	}
	defer f.Close() //nolint:errcheck // it was read only
	return model.Read(base(o.params), f, func(name string) (io.ReadCloser, error) {
		return s.FS.Open(filepath.Join(filepath.Dir(o.params), name))
	})
}

// setRun joins the trainer's defaults, its settings file and the flags.
func (q *query) setRun(t trainer.Trainer) {
	r := trainer.Run{GradDtype: t.GradDtype, ParamDtype: "bfloat16", Zero: t.Stages[0]}
	if q.in.Config != nil {
		q.in.Config.Apply(&r)
	}
	o := &q.o.run
	for _, x := range []struct {
		flag     string
		to, from *int
	}{{"dp", &r.DP, &o.DP}, {"ep", &r.EP, &o.EP}, {"instances", &r.Instances, &o.Instances}, {"zero", &r.Zero, &o.Zero}, {"accum", &r.Accum, &o.Accum}} {
		if q.o.has(x.flag) {
			*x.to = *x.from
		}
	}
	if o.GradDtype != "" {
		r.GradDtype = o.GradDtype
	}
	if o.ParamDtype != "" {
		r.ParamDtype = o.ParamDtype
	}
	if q.o.has("optimizer") {
		r.LayerWise = o.LayerWise
	}
	q.in.Run = r
}

// compute is how long a microbatch takes; nothing where it is not known.
func (q *query) compute() (model.Compute, error) {
	o := &q.o
	switch {
	case o.backward > 0:
		return model.Timed(o.backward, o.forward)
	case o.step > 0:
		return model.Step(o.step)
	case o.flops == 0:
		return model.Compute{}, nil
	}
	l := model.Load{Tokens: o.tokens, ActiveParams: o.active, Flops: o.flops, Recompute: o.recompute}
	if c := q.in.Config; c != nil {
		if l.Tokens == 0 && c.TokensPerMicrobatch != nil {
			l.Tokens = *c.TokensPerMicrobatch
		}
		l.Recompute = l.Recompute || c.Recompute != nil && *c.Recompute
	}
	if l.ActiveParams == 0 && q.in.Model != nil {
		l.ActiveParams = q.in.Model.ActiveParams
	}
	switch {
	case l.Tokens == 0:
		return model.Compute{}, errors.New("--tflops means nothing without --tokens-per-microbatch, which neither a flag nor --config tells")
	case l.ActiveParams == 0 && q.in.Model != nil:
		return model.Compute{}, errors.New("the model has routed experts, and how many of its parameters a token uses is not known: give --active-params")
	case l.ActiveParams == 0:
		return model.Compute{}, nil // without a model there is no answer anyway
	}
	return l.Estimate()
}

// give asks with the curves of the sources.
func (q *query) give(sources []cost.Source) (*advice.Document, error) {
	in := q.in
	in.Sources = sources
	if in.Run.DP == 0 {
		in.Run.DP = ranksOf(sources)
	}
	d, err := advice.Give(in)
	if err != nil {
		return nil, usage(err, "zbench recommend --help lists what a bucket size takes")
	}
	return d, nil
}

// ranksOf is the largest number of ranks that a curve has.
func ranksOf(sources []cost.Source) int {
	most := 1
	for _, s := range sources {
		for i := range s.Record.Results {
			most = max(most, s.Record.Results[i].Ranks)
		}
	}
	return most
}

// refused is the exit code of a document without an answer.
func refused(d *advice.Document) error {
	if d == nil || d.Answer.Refusal == nil {
		return nil
	}
	return &codeError{exitWant, errors.New(strings.TrimSuffix(d.Sentence, ".")), d.Answer.Refusal.Hint}
}

// source joins a record with the samples that its journal has.
func source(rec *record.Record, parts []record.Part) cost.Source {
	s := cost.Source{Record: rec, Samples: map[string]map[string][]float64{}}
	for _, p := range parts {
		at := s.Samples[p.Key]
		if at == nil {
			at = map[string][]float64{}
			s.Samples[p.Key] = at
		}
		if b := p.Burst; b != nil {
			at[record.SeriesBurstMean] = append(at[record.SeriesBurstMean], b.Mean...)
			at[record.SeriesBurstMax] = append(at[record.SeriesBurstMax], b.Max...)
		}
		if b := p.Isolated; b != nil {
			at[record.SeriesIsolatedMax] = append(at[record.SeriesIsolatedMax], b.Max...)
		}
	}
	return s
}

// readSource reads a record or a log with its samples, where a journal lies
// beside the record and is of the same sweep.
func readSource(s State, path string) (cost.Source, error) {
	rec, err := readEither(s, path)
	if err != nil {
		return cost.Source{}, err
	}
	dir := path
	if info, err := s.FS.Stat(path); err != nil || !info.IsDir() {
		dir = filepath.Dir(path)
		if filepath.Base(path) != "results.json" && filepath.Base(path) != journalFile {
			return source(rec, nil), nil
		}
	}
	text, err := s.FS.ReadFile(filepath.Join(dir, journalFile))
	if err != nil {
		return source(rec, nil), nil //nolint:nilerror // a record need not have a journal
	}
	j, err := readJournal(filepath.Join(dir, journalFile), text)
	if err != nil || !j.Header.Record.Created.Equal(rec.Created) {
		return source(rec, nil), nil //nolint:nilerror // a damaged journal has no samples to give
	}
	return source(rec, j.Parts), nil
}

// readAdvice reads the recommendation that lies in a record's folder; nil is none,
// or one of curves that were measured before.
func readAdvice(s State, dir string, rec *record.Record) *advice.Document {
	text, err := s.FS.ReadFile(filepath.Join(dir, adviceFile))
	if err != nil {
		return nil
	}
	d, err := advice.Read(bytes.NewReader(text))
	if err == nil && !d.Of([]cost.Source{{Record: rec}}) {
		err = errors.New("it is of other curves than the record")
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "%s is left out: %s\n", filepath.Join(dir, adviceFile), err)
		return nil
	}
	return d
}

// answered tells whether there is something to draw.
func answered(d *advice.Document) bool {
	return d != nil && d.Answer.Verdict == recommend.Recommended
}
