package embedded

// OpenFS is Open on another file system.
var OpenFS = open
