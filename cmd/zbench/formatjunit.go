package main

// junit is XML for a test server.
var _ = register(format{
	name: "junit", order: 5,
	compare: func(s State, c comparison) error { return c.writeJUnit(s.Stdout) },
	bisect:  func(s State, c bisection) error { return c.writeJUnit(s.Stdout) },
})
