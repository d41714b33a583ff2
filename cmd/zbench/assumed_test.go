package main

import (
	"bytes"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"zbench/bench/answers/advice"
	"zbench/test/buckettest"
)

// sameAnswer compares two recommendations, but for what asked them: sameanswer
// a/recommend.json b/recommend.json. stdout is the last command's output.
func sameAnswer(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sameanswer FILE FILE")
	}
	var docs []*advice.Document
	for _, file := range args {
		d, err := advice.Read(bytes.NewReader([]byte(ts.ReadFile(file))))
		ts.Check(err)
		if !d.Answered() {
			ts.Fatalf("%s has no answer: %s", file, d.Sentence)
		}
		docs = append(docs, d)
	}
	if diff := strings.Join([]string{
		cmp.Diff(docs[0].Answer, docs[1].Answer), cmp.Diff(docs[0].Bracket, docs[1].Bracket), cmp.Diff(docs[0].CurveSHA256, docs[1].CurveSHA256),
	}, ""); diff != "" {
		ts.Fatalf("the answers differ: %s", diff)
	}
}

// agrees holds what files say of a bucket size against the rows in them: agrees FILE…
func agrees(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		if found := buckettest.Contradictions(ts.ReadFile(file)); len(found) > 0 {
			ts.Fatalf("%s contradicts itself: %s", file, strings.Join(found, "\n"))
		}
	}
}
