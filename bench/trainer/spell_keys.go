package trainer

import (
	"fmt"
	"strconv"
	"strings"
)

func isOn(field func(c *Config) *bool) func(*Config, string) error {
	return func(c *Config, value string) error {
		*field(c) = !strings.EqualFold(value, "false") && !isUnset(value)
		return nil
	}
}

func plainForm(field func(c *Config) *int64) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		n, err := whole(value)
		*field(c) = n
		return err
	}
}

// into makes a setter of a field that holds a size.
func into(field func(c *Config) **int64, scale int64) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		n, err := scaled(value, scale)
		if err == nil {
			*field(c) = &n
		}
		return err
	}
}

func small(field func(c *Config) **int) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 1<<20 {
			return fmt.Errorf("%q is not a number", value)
		}
		*field(c) = &n
		return nil
	}
}

func flag(field func(c *Config) **bool) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		on, err := strconv.ParseBool(strings.ToLower(value))
		if err != nil {
			on = true // --flag followed by something else
		}
		*field(c) = &on
		return nil
	}
}
