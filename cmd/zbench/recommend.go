package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/gate"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/slice"
	"zbench/bench/engine"
	"zbench/bench/files/peers"
	"zbench/bench/job/trainer"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/report"
)

func newRecommend(s State) *cobra.Command {
	var o spec.Asked
	var to output
	var chakra, across bool
	cmd := &cobra.Command{
		Use:   "recommend RECORD…|LOG…",
		Short: "The gradient-bucket size for a trainer, from measured curves",
		Long: `Simulates every relevant bucket size on the measured curves by the trainer's
own rules and prints the one to set, its gain and the reasons. Records and logs
of rccl-tests or nccl-tests can be mixed; several of the same collective are
repeats of one curve.

It takes the trainer (--framework), the model (--params, --preset or
--total-params) and the time of a microbatch (--backward-ms, --step-ms, or
--tokens-per-microbatch). Without a time it prints a rule: below so many tokens
set this, above keep that. Without a model it prints the sizes at 50, 80 and
90 % of each plateau and what is missing, and exits with 6.

--params reads what this prints on one rank of the training script, or the log
in which Megatron prints its buckets. --trace takes all of it from a trace.

    ` + strings.ReplaceAll(strings.TrimSpace(trainer.Hook), "\n", "\n    "),
		Example: `  zbench recommend DIR --framework megatron --preset llama3-8b --step-ms 900
  zbench recommend all_reduce.log --framework ddp --params params.csv --backward-ms 80
  zbench recommend DIR --config train.sh --preset zaya1-base`,
		Args: someArgs("`zbench recommend all_reduce.log --framework ddp --preset llama3-8b`", "recommend needs at least one record or log"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkChakra(chakra, to); err != nil {
				return err
			}
			return runRecommend(s, args, &o, to, chakra, across)
		},
	}
	addFlags(cmd, &o, spec.AdviceFlags)
	f := cmd.Flags()
	to.addFlags(f, "folder to create, with the page, the plot and "+engine.AdviceFile+" (default none)")
	to.addVerbose(f, "print the tables, the reasons and the lines for other launchers, too")
	addChakra(f, &chakra, "a step with the answer's setting")
	f.BoolVar(&across, "across", false, "mix records that differ in RCCL's algorithm, GDR flush or fence")
	to.addForce(f)
	return cmd
}

func runRecommend(s State, args []string, o *spec.Asked, to output, chakra, across bool) error {
	started := s.Now()
	want, err := completeAdvice(s, o)
	if err != nil {
		return err
	}
	q, err := advice.Prepare(want)
	if err != nil {
		return err
	}
	sources, err := readSources(s, args)
	if err != nil {
		return err
	}
	recs := slice.Map(sources, func(one recommend.Source) *record.Record { return one.Record })
	settings, defaults := gate.Mixed(args, recs)
	mixed := strings.Join(append(settings, defaults...), "; ") // curves of records with different settings must not count as repeats of one curve
	switch {
	case mixed != "" && !across:
		return usagef("give records with equal settings and library, or --across", "%s; they are not mixed", mixed)
	case mixed != "":
		s.note(false, "ACROSS: %s.\n", mixed)
	}
	if q == nil {
		return knees(s, args, recs, sources, to.format)
	}
	d, err := q.Ask(sources)
	if err != nil {
		return err
	}
	var answers []*recommend.Knees
	if r := d.Answer.Refusal; r != nil && d.Answer.Observed == nil {
		for _, rec := range recs {
			k := kneesOf(rec)
			k.Needs = []recommend.Need{{What: r.Message, How: r.Hint}}
			answers = append(answers, &k)
		}
	}
	r := result{shown: results.Recommendation(d, recs, answers), started: started, verdict: d.Refused()}
	if to.out != "" {
		if r.dir, r.files, err = advisedFolder(s, to, recs, d); err != nil {
			return err
		}
		defer r.dir.Close() //nolint:errcheck // the next run replaces a lock that remains
		if chakra && d.Answered() {
			r.files = append(r.files, advisedSteps(s, q, d)...)
		}
	}
	return s.deliver(to, r)
}

// advisedSteps returns Chakra traces of a step with the recommended setting, one per rank.
func advisedSteps(s State, q *advice.Question, d *advice.Document) (files []artifact) {
	for rank := range d.Answer.Advised.DP {
		t, nodes := q.Step(d, rank)
		if nodes == nil {
			s.note(false, "No Chakra traces: give the time of a microbatch (--backward-ms, --step-ms)\n")
			return nil
		}
		files = append(files, chakraFile(s, rank, t, nodes))
	}
	return files
}

// advisedFolder returns a new folder with the record, and the files that the recommendation and its
// page add.
func advisedFolder(s State, to output, recs []*record.Record, d *advice.Document) (*folder.Folder, []artifact, error) {
	dir, err := folder.New(s.host(false), to.out, "recommend", to.force)
	if err != nil {
		return nil, nil, err
	}
	rec, err := peers.Merge(recs...)
	if err != nil {
		rec = recs[0] // the page shows the first setup; the recommendation uses all
	}
	if err := engine.WriteRecord(dir, rec); err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	files := []artifact{{engine.AdviceFile, d.WriteJSON}}
	return dir, append(files, shownRecord{Record: rec, advice: d, folder: dir.Path}.files()...), nil
}

// knees prints what can be said without a trainer and a model: the sizes at which the plateaus
// begin and, for people, the recommendation for assumed settings.
func knees(s State, paths []string, recs []*record.Record, sources []recommend.Source, format string) error {
	d := assumed(s, sources...)
	for i, rec := range recs {
		k := kneesOf(rec)
		shown := results.Knees(&k)
		if f, _ := report.FormatOf(format); i == len(recs)-1 && f.Readable && d != nil { // the recommendation for assumed settings is for people
			results.Assume(shown, d, recs, paths...)
		}
		if err := s.deliver(output{format: format, bare: true}, result{shown: shown}); err != nil {
			return err
		}
	}
	if d.FixFirst() {
		return exit.With(exit.Want, errors.New(strings.TrimSuffix(d.Sentence, ".")), d.Answer.Refusal.Hint)
	}
	return exit.With(exit.Want, errors.New("not enough input for a bucket size: the trainer and the model are missing"), "give what the list above names")
}
