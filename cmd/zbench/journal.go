package main

import (
	"path/filepath"

	"zbench/bench/base/folder"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
)

// readJournal reads the journal of an earlier run of a command from the run's folder.
func readJournal[H, E any](s State, command, path, name string, read func(text []byte) (H, []E, error)) (h H, saved []E, err error) {
	file := filepath.Join(path, name)
	text, err := s.FS.ReadFile(file)
	if err == nil {
		h, saved, err = read(text)
	}
	if err != nil {
		return h, nil, folder.Damaged(err, file, "give the folder of an earlier `zbench "+command+"`")
	}
	return h, saved, nil
}

// openJournal writes the header of a run and its entries so far, and opens the journal for more. A run
// without an id gets one.
func openJournal[H any, E folder.Entry](dir *folder.Folder, command, name string, h *H, run *string, simulated bool, saved []E) (_ *folder.Journal[E], err error) {
	if *run == "" {
		if *run, err = dir.NewRun(*h, simulated); err != nil {
			return nil, err
		}
	}
	text, err := jsonfile.Lines(*run, *h, saved)
	if err != nil {
		return nil, err
	}
	return folder.NewJournal[E](dir, name, *run, plain.Typed("zbench", command, "--resume", dir.Path), text)
}
