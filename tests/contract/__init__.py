"""Laws that every public classifier obeys, whatever it is made of."""
