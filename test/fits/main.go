// Command fits says whether documents fit a JSON Schema: fits SCHEMA, with the documents on its
// standard input. It exits with 1 and says where one does not.
//
// It is a program of its own for the tests of cmd/zbench. They start their own executable as zbench
// over a thousand times, and the schema library compiles its metaschemas at each start: 14 ms.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func main() {
	if err := fits(os.Args[1], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func fits(schema string, documents io.Reader) error {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(schema)
	if err != nil {
		return err
	}
	d := json.NewDecoder(documents)
	d.UseNumber()
	for n := 1; ; n++ {
		var doc any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
		if err := s.Validate(doc); err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}
