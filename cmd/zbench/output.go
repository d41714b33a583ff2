package main

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"zbench/bench/document"
	"zbench/bench/engine"
	"zbench/bench/spell"
	"zbench/report"
)

// output is how the document of a command is printed.
type output struct {
	format string
	// quiet leaves out what only people read where the format is for programs, verbose prints all that
	// a terminal can.
	quiet, verbose bool
}

const formatName = "format"

// formatFlag adds --format to a command.
func formatFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, formatName, "table", "form of standard output: "+strings.Join(report.FormatNames(), ", "))
}

// checkFormat refuses a format that there is not, before anything is run. help is the hint of the error.
func checkFormat(name, help string) error {
	if _, known := report.FormatOf(name); !known {
		return usage(&spell.Unknown{Kind: "format", Given: name, Valid: report.FormatNames()}, help)
	}
	return nil
}

// tallest is how many lines fit on a screen, with the command before and the prompt after them.
const tallest = 43

// screen is a stream as a terminal.
func (s State) screen(to Stream) report.Screen {
	return report.Screen{Width: to.columns(), Colour: s.coloured(to)}
}

// show prints a document to standard output. Where that is for programs its findings, and what to do
// next, go to standard error.
func (s State) show(d *document.Document, o output) error {
	f, _ := report.FormatOf(o.format)
	screen := s.screen(s.Stdout)
	screen.Lines, screen.Verbose = tallest, o.verbose
	if f.Readable {
		return f.Write(s.Stdout.unescaped(), d, screen)
	}
	if err := f.Write(s.Stdout, d, screen); err != nil || o.quiet {
		return err
	}
	short := d.For(document.Beside)
	short.Beneath = true
	for i := range short.Sections {
		short.Sections[i].On = document.Terminal
	}
	return report.WriteText(s.Stderr.unescaped(), short, s.screen(s.Stderr))
}

// artifact is a file that a folder gets.
type artifact struct {
	name string
	fill func(io.Writer) error
}

// junitFile is a document for a test server.
const junitFile = "junit.xml"

// artifacts are the files that follow from a document: its page, its rows as stem.csv and its checks
// where it has any, and its charts.
func artifacts(d *document.Document, stem string) []artifact {
	files := []artifact{{"report.html", func(w io.Writer) error { return report.WriteHTML(w, d) }}}
	if d.CSV != nil {
		files = append(files, artifact{stem + ".csv", func(w io.Writer) error { return report.WriteCSV(w, d) }})
	}
	if len(d.Checks) > 0 {
		files = append(files, artifact{junitFile, func(w io.Writer) error { return report.WriteJUnit(w, d) }})
	}
	for b := range d.Blocks() {
		switch b := b.(type) {
		case document.Plot:
			files = append(files, drawn(b.ID, b.Chart)...)
		case document.Diagram:
			files = append(files, drawn(b.ID, b)...)
		}
	}
	return files
}

// drawn are the files of a picture.
func drawn(id string, picture document.Block) []artifact {
	return []artifact{
		{id + ".png", func(w io.Writer) error { return report.WritePNG(w, picture) }},
		{id + ".svg", func(w io.Writer) error { return report.WriteSVG(w, picture) }},
	}
}

// whole are the artifacts of a document that no other file holds: its value as JSON, too.
func whole(d *document.Document, more ...artifact) []artifact {
	files := append([]artifact{{d.Command + ".json", d.Value.WriteJSON}}, artifacts(d, d.Command)...)
	return append(files, more...)
}

// keep writes what a command leaves of its document, with more files, and run.json.
func (s State) keep(dir *engine.Folder, started time.Time, d *document.Document, more ...artifact) error {
	return errors.Join(writeFiles(dir, whole(d, more...)), writeRun(dir, s, started))
}

// keepNew is keep into a new folder; nothing where none was asked for.
func (s State) keepNew(out string, force bool, started time.Time, d *document.Document) error {
	if out == "" {
		return nil
	}
	dir, err := engine.NewFolder(s.host(false), out, d.Command, force)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	if err := s.keep(dir, started, d); err != nil {
		return err
	}
	s.note(false, "Wrote %s\n", dir.Path)
	return nil
}

func writeFiles(dir *engine.Folder, files []artifact) error {
	for _, f := range files {
		if err := dir.Write(f.name, f.fill); err != nil {
			return err
		}
	}
	return nil
}
