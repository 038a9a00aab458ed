package client

// MaxPage is how many events a page asks for.
const MaxPage = maxPage
