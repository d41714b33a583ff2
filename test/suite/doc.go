// Package suite holds the test suite to its own rules: which packages need the
// race detector.
package suite
