package report

import (
	"fmt"
	"strings"
)

// mostSpoken is how many of the things that a picture names its description names.
const mostSpoken = 20

// spoken is the description of a picture for those who do not see it: a sentence for each
// thing that it names.
type spoken struct {
	first []string
	count int
}

// add counts one thing more. Only the first ones are asked for their sentence.
func (s *spoken) add(sentence func() string) {
	if s.count++; s.count <= mostSpoken {
		s.first = append(s.first, sentence())
	}
}

// or is the description; none if nothing was added.
func (s *spoken) or(none string) string {
	switch more := s.count - len(s.first); {
	case s.count == 0:
		return none
	case more > 0:
		return fmt.Sprintf("%s %d more.", strings.Join(s.first, " "), more)
	}
	return strings.Join(s.first, " ")
}
