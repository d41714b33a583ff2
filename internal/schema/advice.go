package schema

import (
	"reflect"

	"zbench/bench/advice"
	"zbench/bench/collective"
	"zbench/bench/recommend"
)

// adviceFiles are those of bench/advice.
var adviceFiles = set{
	files: []Document{
		{
			File: "bench/advice/schema/v1.json", ID: "urn:zbench:advice:1", Title: "zbench recommendation, recommend.json",
			Types: []reflect.Type{reflect.TypeFor[advice.Document]()},
		},
	},
	rules: rules{
		reflect.TypeFor[advice.Document](): {version(advice.Schema)},
		reflect.TypeFor[recommend.Answer](): {
			version(recommend.Schema), values("verdict", recommend.Recommended, recommend.NoCommunication, recommend.Refused),
			when(constant("verdict", recommend.Refused), needs("refusal"), nil),
		},
		reflect.TypeFor[advice.WhatIf]():        {values("confidence", append([]string{""}, levels...)...)},
		reflect.TypeFor[recommend.Candidate]():  {values("unfounded", recommend.BeyondSweep, recommend.OneDip)},
		reflect.TypeFor[recommend.Refusal]():    {values("missing", collective.Names()...)},
		reflect.TypeFor[recommend.Confidence](): {values("level", levels...)},
		reflect.TypeFor[recommend.Reason]():     {values("level", levels...)},
		reflect.TypeFor[recommend.Sizes]():      {values("collective", collective.Names()...), values("pass", "backward", "forward", "after")},
		reflect.TypeFor[recommend.Help]():       {signed("gain")}, // of a change that costs
		reflect.TypeFor[recommend.Used]():       {values("collective", collective.Names()...), signed("alpha")},
	},
}

var levels = []string{recommend.High, recommend.Medium, recommend.Low}
