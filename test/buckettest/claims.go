// Package buckettest compares statements about a bucket size with the rows of the printed table.
package buckettest

import (
	"encoding/json"
	"fmt"
	"html"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
)

// row is a line of a table of settings: the setting, its cost, and its marks.
type row struct {
	amount, unit, cost, marks string
}

var (
	tags     = pattern.New(`(?s)<style>.*?</style>|<script>.*?</script>|<svg.*?</svg>|<pre.*?</pre>`)
	cells    = pattern.New(`</t[dh]>\s*<t[dh][^>]*>`)
	anyTag   = pattern.New(`<[^>]*>`)
	fences   = pattern.New("(?s)```.*?```")
	settings = pattern.New(`(?m)^\W*([0-9.,]+) (MiB|G|M|k|block|blocks)\b.*?\s\W*(\+[0-9.]+ %|\?)\W*([a-z][a-z0-9 ,%-]*?)?[\s|]*$`)
	steps    = pattern.New(`(?m)^\W*([0-9,]+)[\s|]+[0-9.]+ m?s[\s|]+[0-9.]+ m?s[\s|]+[0-9.]+ \w+(?: per unit)?[\s|]+(\+[0-9.]+ %)[\s|]+(set|keep)\b`)
	longer   = pattern.New(`A training step is ([0-9.]+ %) longer with (the default|your)`)
	keeps    = pattern.New(`[Kk]eep [^.]*?: a training step is (?:([0-9.]+ %) longer than|(as short as)) with the best size`)
	asGood   = pattern.New(`As good within 1 %: ([^.]*(?:\.[0-9][^.]*)*)\.`)
	ranges   = pattern.New(`(?:([0-9.]+) (?:(MiB|G|M|k|blocks?) )?(?:per unit )?to |up to )?([0-9.]+) (MiB|G|M|k|blocks?)( per unit)?( and more)?`)
	below    = pattern.New(`(?:[Bb]elow about|[Bb]etween about ([0-9,]+) and) ([0-9,]+) tokens per microbatch`)
	mostKept = pattern.New(`keep (?:the default|[^.]* at )[^.]*?(?:\([^)]*\))?, which costs at most ([0-9.]+) %`)
)

// Contradictions returns the statements in a recommendation that contradict the rows of its table,
// and unbalanced brackets. The recommendation is a text, a page or a JSON file.
func Contradictions(text string) []string {
	if json.Valid([]byte(text)) {
		return ofJSON(text)
	}
	if strings.Contains(text, "<html") {
		text = tags.ReplaceAllString(text, " ")
		text = cells.ReplaceAllString(text, "  ")
		text = html.UnescapeString(anyTag.ReplaceAllString(text, "\n"))
	}
	text = strings.ReplaceAll(fences.ReplaceAllString(text, ""), "**", "")
	words := strings.Join(strings.Fields(text), " ")
	found := brackets(words)
	rows := map[string]string{}
	var all []row
	for _, m := range settings.FindAllStringSubmatch(text, -1) {
		all = append(all, row{m[1], m[2], m[3], m[4]})
		for mark := range strings.SplitSeq(m[4], ", ") {
			rows[mark] = m[3]
		}
	}
	for _, m := range longer.FindAllStringSubmatch(words, -1) {
		mark := map[string]string{"the default": "default", "your": "yours"}[m[2]]
		if cost, is := rows[mark]; is && cost != "+"+m[1] {
			found = append(found, fmt.Sprintf("%q beside %s in its row", m[0], cost))
		}
	}
	for _, m := range keeps.FindAllStringSubmatch(words, -1) {
		want := "+" + m[1]
		if m[2] != "" {
			want = "+0 %"
		}
		if cost, is := rows["keep this"]; is && cost != want {
			found = append(found, fmt.Sprintf("%q beside %s in its row", m[0], cost))
		}
	}
	return append(append(found, within(words, all)...), rules(words, text)...)
}

// brackets returns the unbalanced brackets in a text.
func brackets(words string) (found []string) {
	open := 0
	for i, c := range words {
		switch c {
		case '(':
			open++
		case ')':
			open--
		}
		if open < 0 {
			return []string{"a bracket too many: …" + words[max(0, i-60):i+1]}
		}
	}
	return nil
}

// `within` compares the ranges that are said to cost at most 1 % with the rows of the settings in
// these ranges. It makes an exception for a default that cuts other buckets than a setting of the
// same size.
func within(words string, all []row) (found []string) {
	for _, m := range asGood.FindAllStringSubmatch(words, -1) {
		for _, r := range ranges.FindAllStringSubmatch(m[1], -1) {
			lo, hi := elements(r[1], r[2], r[4]), elements(r[3], r[4], "")
			if r[1] == "" && !strings.HasPrefix(r[0], "up to") {
				lo = hi
			}
			for _, x := range all {
				at, cost := elements(x.amount, x.unit, ""), figure(x.cost)
				if at > lo*1.001 && at < hi*0.999 && cost > 1 && !strings.Contains(words, "The default cuts other buckets") {
					found = append(found, fmt.Sprintf("%q beside %s %s: %s", m[0], x.amount, x.unit, x.cost))
				}
			}
		}
	}
	return found
}

// rules compares statements about numbers of tokens with the rows of steps.
func rules(words, text string) (found []string) {
	for _, m := range below.FindAllStringSubmatch(words, -1) {
		from, to := figure(m[1]), figure(m[2])
		for _, x := range steps.FindAllStringSubmatch(text, -1) {
			n, cost := figure(x[1]), figure(x[2])
			set := n > from && n < to
			if near := n > to*0.95 && n < to*1.05 || n > from*0.95 && n < from*1.05; !near && (set != (x[3] == "set") || set != (cost >= 1)) {
				found = append(found, fmt.Sprintf("%q beside %s tokens: %s, %s", m[0], x[1], x[2], x[3]))
			}
			if k := mostKept.FindStringSubmatch(words); k != nil && x[3] == "keep" && cost > figure(k[1]) {
				found = append(found, fmt.Sprintf("%q beside %s tokens: %s", k[0], x[1], x[2]))
			}
		}
	}
	return found
}

func figure(text string) float64 {
	v, err := strconv.ParseFloat(strings.Trim(strings.ReplaceAll(text, ",", ""), "+ %"), 64)
	if err != nil {
		return 0
	}
	return v
}

// elements converts an amount to a number that can be compared with other amounts of the same unit.
func elements(amount, unit, or string) float64 {
	if unit == "" {
		unit = or
	}
	return figure(amount)*map[string]float64{"G": 1e9, "M": 1e6, "k": 1e3}[unit] + figure(amount)*map[string]float64{"MiB": 1, "block": 1, "blocks": 1}[unit]
}

// ofJSON compares the sentence and the findings in recommend.json with its settings.
func ofJSON(text string) []string {
	var d struct {
		Sentence  string
		Judgement struct{ Findings []struct{ Text string } }
		Snippets  []any
		Answer    struct {
			Verdict  string
			Elements int64
			Table    []struct{ Elements int64 }
			Rule     *struct {
				From, To, Elements int64
				Points             []struct {
					Amount int64
					Keep   bool
					Costs  float64
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return []string{err.Error()}
	}
	all := []string{d.Sentence}
	for _, f := range d.Judgement.Findings {
		all = append(all, f.Text)
	}
	said := strings.Join(all, " ")
	found := brackets(said)
	if d.Answer.Verdict == "rule" && (len(d.Snippets) > 0 || d.Answer.Elements != 0 || len(d.Answer.Table) > 0) {
		found = append(found, "a rule with a setting of one amount")
	}
	if r := d.Answer.Rule; r != nil && len(r.Points) > 0 {
		var rows strings.Builder
		for _, p := range r.Points {
			word := map[bool]string{true: "keep", false: "set"}[p.Keep]
			fmt.Fprintf(&rows, "%d  1 s  1 s  1 M  +%.1f %%  %s\n", p.Amount, 100*p.Costs, word)
		}
		found = append(found, rules(said, rows.String())...)
	}
	return found
}
