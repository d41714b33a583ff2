package trainer

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"zbench/bench/collective"
)

// whole reads a positive whole number as configurations write it: 40000000,
// 40_000_000, 5e8, 128*1024*1024.
func whole(value string) (int64, error) {
	product := new(big.Rat).SetInt64(1)
	for part := range strings.SplitSeq(strings.ReplaceAll(value, "_", ""), "*") {
		part = strings.TrimSpace(part)
		f, ok := new(big.Rat), len(part) > 0 && len(part) <= 24 && strings.Trim(part, "0123456789.eE+") == ""
		if _, exponent, has := strings.Cut(strings.ToLower(part), "e"); has && len(exponent) > 3 {
			ok = false
		}
		if ok {
			_, ok = f.SetString(part)
		}
		if !ok {
			return 0, fmt.Errorf("%q is not a number", value)
		}
		product.Mul(product, f)
	}
	if !product.IsInt() || product.Sign() <= 0 || !product.Num().IsInt64() || product.Num().Int64() > 1<<53 {
		return 0, fmt.Errorf("%q is not a positive whole number", value)
	}
	return product.Num().Int64(), nil
}

// scaled reads a number that may have decimals where it counts scale bytes.
func scaled(value string, scale int64) (int64, error) {
	if scale == 1 {
		return whole(value)
	}
	r, ok := new(big.Rat), len(value) > 0 && len(value) <= 64 && strings.Trim(value, "0123456789.") == ""
	if ok {
		_, ok = r.SetString(value)
	}
	if !ok {
		return 0, fmt.Errorf("%q is not a number", value)
	}
	r.Mul(r, new(big.Rat).SetInt64(scale))
	n := new(big.Int).Quo(r.Num(), r.Denom()) // DDP cuts to whole bytes
	if n.Sign() <= 0 || !n.IsInt64() || n.Int64() > 1<<53 {
		return 0, fmt.Errorf("%q is not a positive size", value)
	}
	return n.Int64(), nil
}

// isUnset reports whether a value is one of the spellings of "the default".
func isUnset(value string) bool {
	return slices.Contains([]string{"", "null", "none", "auto", "~"}, strings.ToLower(value))
}

// dtype reads an element type's name.
func dtype(field func(c *Config) *string) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		d, err := collective.DtypeByName(value)
		if err == nil {
			*field(c) = d.Name
		}
		return err
	}
}
