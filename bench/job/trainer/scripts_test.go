package trainer_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/shell"
	"zbench/bench/job/trainer"
)

// scripts is a file with scripts that scripts/trainer-scripts.py gives: what is read of them stands beside it then.
var scripts = flag.String("scripts", "", "read the scripts in this JSON file")

func TestReadsGivenScripts(t *testing.T) {
	if *scripts == "" {
		t.Skip("scripts/trainer-scripts.py gives them")
	}
	text, err := os.ReadFile(*scripts)
	require.NoError(t, err)
	var jobs []struct {
		File, Text string
		Args       []string
		Set        map[string]string
	}
	require.NoError(t, json.Unmarshal(text, &jobs))
	type reading struct {
		Settings []trainer.Setting `json:"settings"`
		Notes    []string          `json:"notes"`
		Error    string            `json:"error"`
	}
	var all []reading
	for _, j := range jobs {
		found, err := trainer.Find(j.Text, shell.Given{Args: j.Args, Set: j.Set})
		r := reading{Settings: found.Settings, Notes: found.Notes}
		if err != nil {
			r.Error = err.Error()
		}
		all = append(all, r)
	}
	text, err = json.Marshal(all)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(*scripts+".read", text, 0o600))
}
