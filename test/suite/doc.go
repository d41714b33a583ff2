// Package suite checks the rules of the test suite: which packages run under the race detector, and
// which under the sanitizers.
package suite
