// Command fits checks documents against a JSON Schema: fits SCHEMA NUMBER reads that number of
// documents from standard input. It exits with 1 and says where a document does not fit, or that
// there are more or fewer documents.
//
// It is a separate program for the tests of cmd/zbench. These start their own executable as zbench
// over a thousand times, and the schema library would compile its metaschemas at each start, which
// takes 14 ms.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"zbench/test/schematest"
)

func main() {
	schema, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = fits(schema, os.Args[2], os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func fits(schema []byte, number string, documents io.Reader) error {
	s, err := schematest.Compiled(schema)
	if err != nil {
		return err
	}
	d := json.NewDecoder(documents)
	d.UseNumber()
	for n := 0; ; n++ {
		var doc any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) && fmt.Sprint(n) == number {
			return nil
		}
		if err == nil {
			err = s.Validate(doc)
		}
		if err != nil {
			return fmt.Errorf("document %d of %s: %w", n+1, number, err)
		}
	}
}
