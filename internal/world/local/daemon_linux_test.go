package local

const daemonArg = "__daemon"

func daemonMain([]string) int { return 1 }
