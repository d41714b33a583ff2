package shell

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTry(t *testing.T) {
	text, _ := os.ReadFile(os.Getenv("TRY"))
	got, err := Read(string(text), Given{Args: strings.Fields(os.Getenv("ARGS"))})
	fmt.Println(err, got.Conditions, got.Elsewhere)
	for _, c := range got.Commands {
		for _, a := range c.Args {
			fmt.Printf("%q%v%v ", a.Text, a.Missing, a.Gone)
		}
		fmt.Println()
	}
}
