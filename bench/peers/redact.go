package peers

import "zbench/bench/pattern"

// homeRE finds a home folder, with the mount it may lie on, and the user's name:
// /home/NAME, /mnt/nfs/home/NAME, /Users/NAME.
var homeRE = pattern.New(`(?:/[\w.+-]+)*/(?:home|homes|users|Users)/[^/\s:,;"')\]]+`)

// redact takes the names of users out of paths: a record reaches more people than
// the log that it was read from.
func redact(text string) string { return homeRE.ReplaceAllString(text, "~") }
