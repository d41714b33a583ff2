package formats

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"zbench/bench/files/peers"
)

// maxMembers is the largest number of files in an archive. A job has at most one file per rank.
const maxMembers = 1 << 16

// unpack calls visit with a file's decompressed content, or with the content of each file of an
// archive. The function visit gets at most the given number of bytes of each file. The
// archive's name precedes the name of its files.
func unpack(name string, r io.Reader, most int64, visit func(name string, r io.Reader) error) error {
	in, err := decompressed(bufio.NewReaderSize(r, Head))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if head, _ := in.Peek(263); len(head) < 262 || string(head[257:262]) != "ustar" {
		return visit(name, in)
	}
	files := 0
	over := fmt.Errorf("%w: the archive has over %d bytes", ErrDamaged, most)
	for archive := tar.NewReader(peers.Bounded(in, most, over)); ; {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && files == 0:
			return fmt.Errorf("%s: %w: the archive has no files", name, ErrDamaged)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w: tar: %w", name, ErrDamaged, err)
		case h.Typeflag != tar.TypeReg || strings.HasPrefix(path.Base(h.Name), "._"): // macOS adds files named "._…" to archives
			continue
		}
		if files++; files > maxMembers {
			return fmt.Errorf("%s: %w: over %d files", name, ErrDamaged, maxMembers)
		}
		one, err := decompressed(bufio.NewReaderSize(archive, Head))
		if err == nil {
			err = visit(name+path.Clean("/"+h.Name), one)
		}
		if err != nil {
			return err
		}
	}
}

// decompressed returns the input. If the input is gzip, the result is decompressed. The error
// wraps ErrDamaged.
func decompressed(in *bufio.Reader) (*bufio.Reader, error) {
	if head, _ := in.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return in, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%w: gzip: %w", ErrDamaged, err)
	}
	return bufio.NewReaderSize(z, Head), nil
}

// peek returns the first bytes of an input without consuming them.
func peek(name string, r io.Reader) (*Input, []byte, error) {
	in := bufio.NewReaderSize(r, Head)
	head, err := in.Peek(Head)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Input{name, in}, head, nil
}
