package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"zbench/internal/launch"
)

// The names of shared files begin with one of these, for a program or for a sweep, and end with a
// number of bytes as hexadecimal digits.
const (
	programMeeting = "zbench-loopback-"
	sweepMeeting   = "zbench-"
	meetingBytes   = 8
)

// isMeeting reports whether a file's name marks it as a shared file.
func isMeeting(name string) bool {
	digits, found := strings.CutPrefix(name, programMeeting)
	if !found {
		digits, found = strings.CutPrefix(name, sweepMeeting)
	}
	return found && len(digits) == 2*meetingBytes && strings.Trim(digits, "0123456789abcdef") == ""
}

// A file system in memory and its minimum size: the processes' data would otherwise be written to a
// disk. Containers often have 64 MiB of it.
const (
	sharedMemory     = "/dev/shm"
	sharedMemoryRoom = 4 << 30
	temporaryFolder  = "/tmp"
)

// ownTemp returns the user's folder for temporary files, empty for none. Slurm sets TMPDIR to /tmp
// only for the first task of a node (src/slurmd/slurmstepd/task.c, _make_tmpdir), so among Slurm's
// tasks that is no choice.
func ownTemp(s State) string {
	folder := s.Getenv("TMPDIR")
	if s.Getenv("SLURM_LOCALID") != "" && filepath.Clean(folder) == temporaryFolder {
		return ""
	}
	return folder
}

// meetingFolder returns the folder of a simulation's shared file: TMPDIR, else memory, else /tmp.
// All processes of one host must find the same folder, so free space does not count.
func meetingFolder(s State) string {
	if folder := ownTemp(s); folder != "" {
		return folder
	}
	if s.Space != nil && s.FS.Access(sharedMemory) == nil {
		if space, err := s.Space(sharedMemory); err == nil && space.Size >= sharedMemoryRoom {
			return sharedMemory
		}
	}
	return temporaryFolder
}

func meetingFile(s State, prefix string, name []byte) string {
	return filepath.Join(meetingFolder(s), prefix+hex.EncodeToString(name))
}

// removeLeft removes the shared files of killed processes. Those of running processes stay, because
// they are locked.
func removeLeft(s State) {
	if s.RemoveLeft == nil {
		return
	}
	folders := []string{sharedMemory, temporaryFolder}
	if own := s.Getenv("TMPDIR"); own != "" && !slices.Contains(folders, filepath.Clean(own)) {
		folders = append(folders, own)
	}
	for _, folder := range folders {
		entries, err := s.FS.ReadDir(folder)
		if err != nil {
			continue // an unreadable folder is not this run's
		}
		for _, e := range entries {
			if e.Type().IsRegular() && isMeeting(e.Name()) {
				s.RemoveLeft(filepath.Join(folder, e.Name()))
			}
		}
	}
}

// arenaFile names the shared file of a program's processes: a new one, or that of this process's
// launcher. The last process to end removes it.
func arenaFile(s State, role launch.Role) (string, error) {
	if role.Local == 0 { // one of those that start together is enough
		removeLeft(s)
	}
	var name [meetingBytes]byte
	if role.Several() {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s", role.By, role.Leader, role.Size, role.Agent))
		copy(name[:], sum[:])
	} else if _, err := io.ReadFull(s.Random, name[:]); err != nil {
		return "", err
	}
	return meetingFile(s, programMeeting, name[:]), nil
}
