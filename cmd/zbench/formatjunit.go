package main

import "zbench/bench/gate"

// junit is XML for a test server.
var _ = register(format{
	name: "junit", order: 5,
	compare: func(s State, c comparison) error {
		return gate.WriteJUnit(s.Stdout, c.requireChecked, c.Suite(c.failOn))
	},
	bisect: func(s State, c bisection) error {
		return gate.WriteJUnit(s.Stdout, c.requireChecked, c.Suite(c.failOn))
	},
})
