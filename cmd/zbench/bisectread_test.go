package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/bisect"
	"zbench/bench/run/spec"
)

func TestVariants(t *testing.T) {
	s, _ := testState(t)
	got, err := parseVariants(s, []string{"7.2=A=1 B=x=y --rccl-lib /opt/a.so --fault late:gpu=1,us=5", "base="}, spec.Collectives)
	require.NoError(t, err)
	require.Equal(t, variant{
		Given:   bisect.Given{Name: "7.2", Settings: "A=1 B=x=y --rccl-lib /opt/a.so --fault late:gpu=1,us=5"},
		environ: []string{"A=1", "B=x=y"}, args: []string{"--rccl-lib", "/opt/a.so", "--fault", "late:gpu=1,us=5"},
	}, got[0])
	require.Equal(t, variant{Given: bisect.Given{Name: "base"}, args: []string{}}, got[1])
}
