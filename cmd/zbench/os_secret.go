package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// secretBytes is the length of a user's secret.
const secretBytes = 32

// hostSecret reads this user's secret on this host, and makes it first if there is none: a file in a
// folder that no other user can enter.
func hostSecret() ([]byte, error) {
	return secretIn(filepath.Join(os.TempDir(), ".zbench-"+strconv.Itoa(os.Geteuid())))
}

func secretIn(folder string) ([]byte, error) {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := os.Lstat(folder) // a link could lead to another user's folder
	if err != nil {
		return nil, err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(of.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s is not a folder of this user with mode 0700", folder)
	}
	name := filepath.Join(folder, "secret")
	secret, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = makeSecret(folder, name)
		if err == nil {
			secret, err = os.ReadFile(name)
		}
	}
	if err == nil && len(secret) != secretBytes {
		err = fmt.Errorf("%s has %d bytes instead of %d", name, len(secret), secretBytes)
	}
	return secret, err
}

// makeSecret writes a new secret under a name of its own and links it: of several processes that do so
// at once the first decides, and none reads a part of it.
func makeSecret(folder, name string) error {
	f, err := os.CreateTemp(folder, "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	_, err = f.Write(secret)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), name); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
