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

// These are prefixes of the names of shared files. A program's file begins with programMeeting, and
// a sweep's file begins with sweepMeeting. Each name ends with meetingBytes bytes as hexadecimal
// digits.
const (
	programMeeting = "zbench-loopback-"
	sweepMeeting   = "zbench-"
	meetingBytes   = 8
)

// isMeeting reports whether a name is the name of a shared file.
func isMeeting(name string) bool {
	digits, found := strings.CutPrefix(name, programMeeting)
	if !found {
		digits, found = strings.CutPrefix(name, sweepMeeting)
	}
	return found && len(digits) == 2*meetingBytes && strings.Trim(digits, "0123456789abcdef") == ""
}

// sharedMemory is a file system in memory. With it the data of the processes are not written to a
// disk. It is used if it has at least sharedMemoryRoom bytes; in containers it often has only 64
// MiB.
const (
	sharedMemory     = "/dev/shm"
	sharedMemoryRoom = 4 << 30
	temporaryFolder  = "/tmp"
)

// ownTemp returns the user's folder for temporary files, or empty text if the user has chosen none.
// Slurm sets TMPDIR to /tmp for the first task of a node only (src/slurmd/slurmstepd/task.c,
// _make_tmpdir), so for a Slurm task /tmp does not count as a choice.
func ownTemp(s State) string {
	folder := s.Getenv("TMPDIR")
	if s.Getenv("SLURM_LOCALID") != "" && filepath.Clean(folder) == temporaryFolder {
		return ""
	}
	return folder
}

// meetingFolder returns the folder for the shared file of a simulation: TMPDIR, else a file system
// in memory, else /tmp. All processes on a host must find the same folder, so free space must not
// decide.
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

// removeLeft removes shared files that killed processes have left. Files of running processes stay,
// because these hold a lock.
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
			continue // an unreadable folder is of no use for this run
		}
		for _, e := range entries {
			if e.Type().IsRegular() && isMeeting(e.Name()) {
				s.RemoveLeft(filepath.Join(folder, e.Name()))
			}
		}
	}
}

// arenaFile returns the name of the shared file of a program's processes. If a launcher started
// several processes, the name is made from what the launcher tells all of them. Otherwise the name
// is random. The last process that ends removes the file.
func arenaFile(s State, role launch.Role) (string, error) {
	if role.Local == 0 { // one process per host cleans up
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
